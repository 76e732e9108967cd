"""A run's history keeps its newest entries, whatever they say."""

from functools import partial

import pytest

from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle.history import MAX_HISTORY
from tests.service.experiments.lifecycle.verbs import deferred, done, end_pauses
from tests.service.sample_runs import claimed, failed, run_of, submitted


def test_a_history_keeps_its_newest_entries(db: Database) -> None:
    submitted(db)
    for k in range(MAX_HISTORY + 5):
        lease = claimed(db).lease
        done(db, partial(lifecycle.release, lease=lease, reason=f"stop {k}"))
    history = run_of(db, lease.run_id).history
    assert [entry["reason"] for entry in (history[0], history[-1])] == ["stop 5", f"stop {MAX_HISTORY + 4}"]


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 of a pair"])
def test_an_error_with_characters_that_databases_refuse_can_be_stored(db: Database, text: str) -> None:
    submitted(db)
    lease = claimed(db).lease
    deferred(db, lease, text)
    end_pauses(db)
    lease = claimed(db).lease
    failed(db, lease, text)
    run = run_of(db, lease.run_id)
    assert run.error is not None
    assert run.error.replace("\N{REPLACEMENT CHARACTER}", "?") in ("a?b", "half ? of a pair")
    assert run.history[0]["reason"].startswith(run.error)

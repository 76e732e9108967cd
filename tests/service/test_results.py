"""A run's end: its result and its leaderboard entry change together."""

from collections.abc import Callable

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.events import Analysed, Finding
from service import results
from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease, LeaseLost
from service.leaderboards.tables import Entry
from tests.service.sample_runs import claimed, finished, result_of, run_of, started_on, submitted, timing_of

ANALYSED = Analysed([Finding("gain 0.1", 1.0, "ratio of norms")], 1.5)
FINISH: dict[str, Callable[[Session, Lease], None]] = {
    "training": lambda session, lease: results.finish(
        session, lease, "completed", result_of(), timing_of(), started_on()
    ),
    "analysis": lambda session, lease: results.finish_analysis(session, lease, ANALYSED),
}


def entries_of(db: Database) -> list[tuple[str, int]]:
    with db.snapshot() as session:
        rows = session.execute(select(Entry.fingerprint, Entry.n_runs))
        return [(fingerprint, n_runs) for fingerprint, n_runs in rows]


def test_a_finished_training_succeeds_and_counts_on_its_board(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    for n_runs in (1, 2):
        lease = claimed(db).lease
        finished(db, lease)
        assert run_of(db, lease.run_id).state == "succeeded"
        assert entries_of(db) == [(experiment.fingerprint, n_runs)]


def test_a_finished_analysis_succeeds_and_has_no_board(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    with db.transaction() as session:
        results.finish_analysis(session, lease, ANALYSED)
    run = run_of(db, lease.run_id)
    assert (run.state, run.outcome, run.seconds) == ("succeeded", "completed", 1.5)
    assert run.result is not None
    assert [finding["name"] for finding in run.result["findings"]] == ["gain 0.1"]
    assert entries_of(db) == []


def test_a_result_that_is_not_committed_leaves_no_entry(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    with db.transaction() as session:
        FINISH["training"](session, lease)
        session.rollback()
    assert run_of(db, lease.run_id).state == "running"
    assert entries_of(db) == []


@pytest.mark.parametrize("kind", FINISH)
def test_an_attempt_that_lost_the_run_changes_neither_the_run_nor_its_board(db: Database, kind: str) -> None:
    submitted(db)
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.release(session, lease, "handed over")
    with pytest.raises(LeaseLost), db.transaction() as session:
        FINISH[kind](session, lease)
    assert run_of(db, lease.run_id).state == "queued"
    assert entries_of(db) == []

"""Only the attempt that holds a run can write to it."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from normcore.events import Analysed
from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease, LeaseLost
from tests.service.experiments.lifecycle.verbs import everything_of, released
from tests.service.sample_runs import (
    begun,
    claimed,
    failed,
    measured,
    recorded,
    result_of,
    rows_of,
    run_of,
    started,
    submitted,
)

WRITES: dict[str, Callable[[Session, Lease], Any]] = {
    "start": lambda s, lease: lifecycle.start(s, lease, started(0), device="cuda:0", resumed_from=None, notes=["n"]),
    "record": lambda s, lease: lifecycle.record(s, lease, [measured(15)], step=15, seconds=9.0, pace=1.0),
    "finish": lambda s, lease: lifecycle.finish(s, lease, "completed", result_of()),
    "finish_analysis": lambda s, lease: lifecycle.finish_analysis(s, lease, Analysed((), 1.0)),
    "fail": lambda s, lease: lifecycle.fail(s, lease, "broken"),
    "confirm_cancel": lifecycle.confirm_cancel,
    "release": lambda s, lease: lifecycle.release(s, lease, "stopping"),
    "defer": lambda s, lease: lifecycle.defer(s, lease, "disk full"),
    "lose": lambda s, lease: lifecycle.lose(s, lease, "gone", max_attempts=9),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("since", ["queued again", "running again", "ended"])
def test_an_attempt_that_lost_the_run_cannot_write(db: Database, write: str, since: str) -> None:
    submitted(db)
    old = claimed(db, worker_id="wrk_old").lease
    begun(db, old)
    recorded(db, old, measured(5), measured(10))
    if since == "ended":
        failed(db, old)
    else:
        released(db, old)
    if since == "running again":
        begun(db, claimed(db, worker_id="wrk_new").lease, step=10, resumed_from=10)
    run_before, rows_before = everything_of(run_of(db, old.run_id)), rows_of(db, old.run_id)
    with pytest.raises(LeaseLost), db.transaction() as session:
        WRITES[write](session, old)
    assert everything_of(run_of(db, old.run_id)) == run_before
    assert rows_of(db, old.run_id) == rows_before


@pytest.mark.parametrize("write", WRITES)
def test_the_attempt_that_holds_the_run_can_write(db: Database, write: str) -> None:
    submitted(db)
    lease = claimed(db).lease
    before = everything_of(run_of(db, lease.run_id))
    with db.transaction() as session:
        WRITES[write](session, lease)
    assert everything_of(run_of(db, lease.run_id)) != before

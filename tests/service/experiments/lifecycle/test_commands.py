"""Requests of users: cancel and retry. A cancelled run is queued again only by a retry."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.orm import Session

from service.db import Database
from service.errors import NotFound
from service.experiments import lifecycle
from service.experiments.tables import Run
from service.queue import Notification
from tests.service.experiments.lifecycle.verbs import cancel, claim_one, everything_of, retry
from tests.service.sample_runs import claimed, failed, finished, recorded, run_of, submitted


def test_cancelling_stops_queued_runs_at_once_and_asks_running_ones(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    running = claimed(db).lease
    waiting = experiment.runs[1].id
    assert recorded(db, running) is False
    cancel(db, experiment.id)
    assert run_of(db, waiting).state == "cancelled"
    assert run_of(db, waiting).finished_at is not None
    assert run_of(db, running.run_id).state == "running"
    assert recorded(db, running) is True, "the worker hears of it with its next report"
    with db.transaction() as session:
        lifecycle.confirm_cancel(session, running)
    assert run_of(db, running.run_id).state == "cancelled"
    assert claim_one(db) is None


def test_cancelling_does_not_change_ended_runs(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease)
    before = [everything_of(run_of(db, run.id)) for run in experiment.runs]
    cancel(db, experiment.id)
    assert [everything_of(run_of(db, run.id)) for run in experiment.runs] == before


def test_retry_opens_a_new_attempt_of_failed_and_cancelled_runs_only(db: Database) -> None:
    experiment = submitted(db, seeds=range(5), device="cpu")
    succeeded, broken, running = (claimed(db).lease for _ in range(3))
    finished(db, succeeded)
    failed(db, broken, "out of memory")
    stopped, waiting = experiment.runs[3].id, experiment.runs[4].id
    with db.transaction() as session:
        run = session.get_one(Run, stopped)
        run.state, run.finished_at = "cancelled", datetime(2026, 1, 2, tzinfo=UTC)
    untouched = {id: everything_of(run_of(db, id)) for id in (succeeded.run_id, running.run_id, waiting)}

    notifications = retry(db, experiment.id)

    assert sorted(notifications, key=lambda notification: notification.run_id) == [
        Notification(broken.run_id, "cpu"),
        Notification(stopped, "cpu"),
    ]
    for id in (broken.run_id, stopped):
        run = run_of(db, id)
        assert (run.state, run.attempt, run.error, run.finished_at) == ("queued", 2, None, None)
        assert (run.times_lost, run.cancel_requested) == (0, False)
    histories = [run_of(db, id).history for id in (broken.run_id, stopped)]
    assert [[entry["reason"] for entry in history] for history in histories] == [
        ["failed: out of memory; retried"],
        ["cancelled; retried"],
    ]
    assert (histories[1][0]["attempt"], histories[1][0]["at"]) == (1, "2026-01-02T00:00:00+00:00")
    assert {id: everything_of(run_of(db, id)) for id in untouched} == untouched
    assert retry(db, experiment.id) == []


def test_a_cancelled_running_run_can_be_retried_and_is_not_cancelled_again(db: Database) -> None:
    experiment = submitted(db)
    lease = claimed(db).lease
    cancel(db, experiment.id)
    with db.transaction() as session:
        lifecycle.confirm_cancel(session, lease)
    assert len(retry(db, experiment.id)) == 1
    again = claimed(db).lease
    assert again.attempt == 2
    assert recorded(db, again) is False


@pytest.mark.parametrize("verb", [lifecycle.cancel, lifecycle.retry])
def test_an_unknown_experiment_is_not_found(db: Database, verb: Callable[[Session, str], Any]) -> None:
    with pytest.raises(NotFound, match="exp_nope"), db.transaction() as session:
        verb(session, "exp_nope")

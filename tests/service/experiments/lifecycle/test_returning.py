"""The ways back to the queue: leases that ran out, workers that stop, trouble that passes."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle.returning import MAX_PAUSE_SECONDS
from service.experiments.tables import Run
from service.queue import Notification
from tests.service.experiments.lifecycle.verbs import (
    MAX_ATTEMPTS,
    claim_one,
    deferred,
    done,
    end_pauses,
    pause_of,
    released,
    taken_back,
)
from tests.service.sample_runs import ALL_QUEUES, claimed, run_of, submitted


def test_a_run_whose_lease_ran_out_is_queued_again_with_a_new_attempt_and_a_history(db: Database) -> None:
    submitted(db)
    lost = claimed(db, worker_id="wrk_dead", lease_seconds=-1).lease
    assert taken_back(db) == [Notification(lost.run_id, "auto")]
    run = run_of(db, lost.run_id)
    assert (run.state, run.attempt, run.times_lost) == ("queued", 2, 1)
    assert (run.worker_id, run.lease_expires_at) == (None, None)
    assert [(entry["attempt"], entry["reason"]) for entry in run.history] == [
        (1, "worker wrk_dead stopped renewing its lease")
    ]
    again = claimed(db).lease
    assert (again.run_id, again.attempt) == (lost.run_id, 2)


def test_a_lease_that_still_holds_is_not_taken_back(db: Database) -> None:
    submitted(db, seeds=[0, 1])
    kept = claimed(db, lease_seconds=60).lease
    gone = claimed(db, lease_seconds=-1).lease
    assert [notification.run_id for notification in taken_back(db)] == [gone.run_id]
    assert run_of(db, kept.run_id).state == "running"


def test_many_schedulers_that_take_back_at_once_open_one_attempt(db: Database) -> None:
    submitted(db, seeds=range(6))
    for _ in range(6):
        claimed(db, lease_seconds=-1)
    ready = threading.Barrier(4)

    def look(_: int) -> list[Notification]:
        ready.wait()
        return taken_back(db)

    with ThreadPoolExecutor(4) as pool:
        notifications = [notification for found in pool.map(look, range(4)) for notification in found]
    assert len({notification.run_id for notification in notifications}) == len(notifications) == 6
    assert {run_of(db, notification.run_id).attempt for notification in notifications} == {2}


def test_a_run_lost_too_often_fails_and_says_why_each_time(db: Database) -> None:
    submitted(db)
    for k in range(MAX_ATTEMPTS):
        lease = claimed(db, worker_id=f"wrk_{k}", lease_seconds=-1).lease
        notifications = taken_back(db)
        assert bool(notifications) == (k < MAX_ATTEMPTS - 1)
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt) == ("failed", MAX_ATTEMPTS)
    assert run.error is not None
    assert run.error.startswith(f"lost {MAX_ATTEMPTS} times without a new checkpoint: ")
    assert all(f"wrk_{k}" in run.error for k in range(MAX_ATTEMPTS))
    assert run.finished_at is not None
    assert claim_one(db) is None


def test_giving_a_run_back_does_not_count_as_losing_it(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS + 2):
        lease = claimed(db).lease
        assert released(db, lease) == Notification(lease.run_id, "auto")
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt, run.times_lost) == ("queued", MAX_ATTEMPTS + 3, 0)
    assert [entry["attempt"] for entry in run.history] == list(range(1, MAX_ATTEMPTS + 3))


def test_a_worker_that_is_gone_loses_its_own_runs_only(db: Database) -> None:
    submitted(db, seeds=[0, 1])
    theirs, ours = claimed(db, worker_id="wrk_gone").lease, claimed(db, worker_id="wrk_here").lease
    notifications = done(db, lambda s: lifecycle.take_back_from(s, "wrk_gone", max_attempts=9))
    assert notifications == [Notification(theirs.run_id, "auto")]
    assert run_of(db, theirs.run_id).history[0]["reason"] == "worker wrk_gone ended"
    assert run_of(db, ours.run_id).state == "running"


def test_a_deferred_run_pauses_longer_each_time_and_says_why(db: Database) -> None:
    submitted(db)
    pauses = []
    for _ in range(9):
        lease = claimed(db).lease
        deferred(db, lease)
        pauses.append(pause_of(db, lease.run_id))
        end_pauses(db)
    expected = [1, 2, 4, 8, 16, 32, *[MAX_PAUSE_SECONDS] * 3]
    assert all(0 <= wanted - pause < 1 for wanted, pause in zip(expected, pauses, strict=True)), pauses
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt, run.times_lost) == ("queued", 10, 0)
    assert [entry["reason"] for entry in run.history[:2]] == [
        "disk full; the next try is in 1 s",
        "disk full; the next try is in 2 s",
    ]


def test_a_paused_run_is_neither_claimed_nor_notified_of_until_its_pause_is_over(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    deferred(db, lease)

    def claim(session: Session) -> object:
        return lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_2", lease_seconds=60)

    def notify(session: Session) -> list[Notification]:
        return lifecycle.notify_again(session, idle={"auto": 1}, after_seconds=5)

    done(db, lifecycle.end_pauses)
    assert done(db, claim) is None
    assert done(db, notify) == []
    end_pauses(db)
    assert done(db, notify) == [Notification(lease.run_id, "auto")], "at the scheduler's next look"
    assert done(db, claim) is not None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_locked_rows_are_skipped_and_not_waited_for(db: Database) -> None:
    submitted(db, seeds=[0, 1, 2, 3])
    held, expired = (claimed(db, lease_seconds=-1).lease for _ in range(2))
    front = select(Run).where(Run.state == "queued").order_by(Run.id).limit(1)
    with db.transaction() as session:
        for query in (front, select(Run).where(Run.id == held.run_id)):
            session.scalars(query.with_for_update()).one()
        with db.transaction() as other:
            other.execute(text("SET LOCAL lock_timeout = '2s'"))
            claim = lifecycle.claim(other, queues=ALL_QUEUES, worker_id="wrk_2", lease_seconds=60)
            taken = lifecycle.take_back(other, max_attempts=9)
            notified = lifecycle.notify_again(other, idle={"auto": 9}, after_seconds=-1)
    assert claim is not None
    assert run_of(db, claim.lease.run_id).seed == 3
    assert taken == notified == [Notification(expired.run_id, "auto")]

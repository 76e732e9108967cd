"""Every way back to the queue: after a loss, after trouble, when a worker stops; and who wins when somebody cancels."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.orm import Session

from service.db import Database, epoch_now
from service.experiments import lifecycle
from service.experiments.lifecycle import MAX_HISTORY, MAX_PAUSE_SECONDS, Lease, LeaseLost
from service.experiments.tables import Run
from service.queue import Notification
from tests.processes import until
from tests.service.given import (
    ALL_QUEUES,
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

MAX_ATTEMPTS = 3
WAYS_BACK: dict[str, Callable[[Session, Lease], Any]] = {
    "release": lambda s, lease: lifecycle.release(s, lease, "its worker stopped"),
    "defer": lambda s, lease: lifecycle.defer(s, lease, "disk full"),
    "lose": lambda s, lease: lifecycle.lose(s, lease, "killed", max_attempts=9),
    "take_back": lambda s, lease: lifecycle.take_back(s, max_attempts=9),
    "take_back_from": lambda s, lease: lifecycle.take_back_from(s, "wrk_1", max_attempts=9),
}


def done(db: Database, verb: Callable[[Session], Any]) -> Any:
    with db.transaction() as session:
        return verb(session)


def lost(db: Database, lease: Lease) -> Notification | None:
    notification: Notification | None = done(
        db, lambda s: lifecycle.lose(s, lease, "killed", max_attempts=MAX_ATTEMPTS)
    )
    return notification


def deferred(db: Database, lease: Lease, reason: str = "disk full") -> None:
    done(db, lambda s: lifecycle.defer(s, lease, reason))


def pause_of(db: Database, run_id: str) -> float:
    """How long the run still has to wait, in seconds."""
    with db.snapshot() as session:
        return float(session.scalars(select(Run.not_before - epoch_now()).where(Run.id == run_id)).one() or 0.0)


def end_pauses(db: Database) -> None:
    done(db, lambda s: s.execute(update(Run).values(not_before=epoch_now())))
    done(db, lifecycle.end_pauses)


# -- a run that gets ahead is not given up ----------------------------------------------------------


def test_a_run_that_gets_to_a_new_checkpoint_between_its_losses_never_fails(db: Database) -> None:
    submitted(db)
    for step in range(10, 10 * MAX_ATTEMPTS * 4, 10):
        lease = claimed(db).lease
        begun(db, lease, step=step, resumed_from=step)
        assert lost(db, lease) is not None
    assert run_of(db, lease.run_id).times_lost == 1


def test_a_run_that_wrote_a_checkpoint_before_it_died_has_its_losses_behind_it(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS - 1):
        lease = claimed(db).lease
        lost(db, lease)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, saved=40)
    assert lost(db, lease) is not None
    assert run_of(db, lease.run_id).times_lost == 1


def test_a_checkpoint_that_is_not_beyond_where_the_attempt_began_is_no_progress(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        begun(db, lease, step=40, resumed_from=40)
        recorded(db, lease, saved=40)
        notification = lost(db, lease)
    assert notification is None
    assert run_of(db, lease.run_id).state == "failed"


def test_a_run_that_dies_again_and_again_at_one_place_fails(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        begun(db, lease, step=10, resumed_from=10)
        notification = lost(db, lease)
    assert notification is None
    run = run_of(db, lease.run_id)
    assert run.state == "failed"
    assert run.error is not None
    assert run.error.startswith(f"lost {MAX_ATTEMPTS} times at one place: killed; killed")


def test_going_on_from_an_older_checkpoint_is_no_progress(db: Database) -> None:
    submitted(db)
    for step in (30, 20, 10):
        lease = claimed(db).lease
        begun(db, lease, step=step, resumed_from=step)
        lost(db, lease)
    assert run_of(db, lease.run_id).state == "failed"


# -- trouble ----------------------------------------------------------------------------------------


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


def test_pauses_begin_anew_once_the_run_gets_to_a_new_checkpoint(db: Database) -> None:
    submitted(db)
    for _ in range(5):
        lease = claimed(db).lease
        deferred(db, lease)
        end_pauses(db)
    lease = claimed(db).lease
    begun(db, lease, step=10, resumed_from=10)
    deferred(db, lease)
    assert 0 <= 1 - pause_of(db, lease.run_id) < 1


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


def test_a_history_keeps_its_newest_entries(db: Database) -> None:
    submitted(db)
    for k in range(MAX_HISTORY + 5):
        lease = claimed(db).lease
        done(db, partial(lifecycle.release, lease=lease, reason=f"stop {k}"))
    history = run_of(db, lease.run_id).history
    assert [entry["reason"] for entry in (history[0], history[-1])] == ["stop 5", f"stop {MAX_HISTORY + 4}"]


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 of a pair"])
def test_whatever_an_error_says_can_be_stored(db: Database, text: str) -> None:
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


def test_a_retried_run_has_its_losses_and_pauses_behind_it(db: Database) -> None:
    experiment = submitted(db)
    for _ in range(5):
        lease = claimed(db).lease
        deferred(db, lease)
        end_pauses(db)
    for _ in range(MAX_ATTEMPTS):
        lease = claimed(db).lease
        lost(db, lease)
    assert run_of(db, lease.run_id).state == "failed"
    done(db, lambda s: lifecycle.retry(s, experiment.id))
    lease = claimed(db).lease
    assert lost(db, lease) is not None, "the first loss of three"
    deferred(db, claimed(db).lease)
    assert 0 <= 1 - pause_of(db, lease.run_id) < 1, "the first pause"
    done(db, lambda s: lifecycle.cancel(s, experiment.id))
    done(db, lambda s: lifecycle.retry(s, experiment.id))
    assert pause_of(db, lease.run_id) == 0
    assert claimed(db).lease.run_id == lease.run_id


# -- a checkpoint that brings measurements along ----------------------------------------------------


def test_beginning_stores_what_the_checkpoint_brought_along(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    brought = [measured(10, loss=1.0), measured(20, loss=0.5)]
    with db.transaction() as session:
        lifecycle.start(session, lease, started(20), device="cpu", resumed_from=20, measured=brought)
    assert [(step, value) for step, _, value, *_ in rows_of(db, lease.run_id)] == [(10, 1.0), (20, 0.5)]


def test_a_claim_says_which_checkpoints_still_fit(db: Database) -> None:
    submitted(db)
    first = claimed(db)
    assert (first.started_attempt, first.resumed_from) == (0, 0)
    begun(db, first.lease)
    lost(db, first.lease)
    second = claimed(db)
    assert (second.started_attempt, second.resumed_from) == (1, 0)
    begun(db, second.lease, step=30, resumed_from=30)
    lost(db, second.lease)
    third = claimed(db)
    assert (third.started_attempt, third.resumed_from) == (2, 30)
    lost(db, third.lease)
    assert (claimed(db).started_attempt, third.lease.attempt) == (2, 3), "the third never began"


# -- cancel wins ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS_BACK)
def test_a_run_that_somebody_cancelled_is_not_queued_again(db: Database, way: str) -> None:
    experiment = submitted(db)
    lease = claimed(db, lease_seconds=-1).lease
    done(db, lambda s: lifecycle.cancel(s, experiment.id))
    assert not done(db, lambda s: WAYS_BACK[way](s, lease))
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt) == ("cancelled", 1)
    assert run.finished_at is not None


@pytest.mark.parametrize("way", WAYS_BACK)
def test_a_cancel_that_meets_a_way_back_to_the_queue_is_never_swallowed(db: Database, way: str) -> None:
    """Both at once, many times: whichever comes first, the run ends as cancelled and is not claimed again."""
    for _ in range(15):
        experiment = submitted(db)
        lease = claimed(db, lease_seconds=-1).lease
        together = threading.Barrier(2)

        def give_back(lease: Lease = lease, together: threading.Barrier = together) -> None:
            together.wait()
            try:
                done(db, lambda s: WAYS_BACK[way](s, lease))
            except LeaseLost:
                pytest.fail("nobody else may have taken the run")

        def cancel(experiment_id: str = experiment.id, together: threading.Barrier = together) -> None:
            together.wait()
            done(db, lambda s: lifecycle.cancel(s, experiment_id))

        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(give_back), pool.submit(cancel)]:
                future.result(timeout=30)
        done(db, lambda s: lifecycle.take_back(s, max_attempts=9))  # passed over while somebody held it
        assert run_of(db, lease.run_id).state == "cancelled"
        with db.transaction() as session:
            assert lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_2", lease_seconds=60) is None


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_cancel_that_has_to_wait_for_a_finish_lets_it_be(db: Database) -> None:
    experiment = submitted(db)
    lease = claimed(db).lease
    with ThreadPoolExecutor(1) as pool:
        with db.transaction() as session:
            lifecycle.finish(session, lease, "completed", result_of())
            cancelling = pool.submit(done, db, lambda s: lifecycle.cancel(s, experiment.id))
            until(lambda: is_waited_for(db), 5, lambda: "nobody waits for the finish")
        cancelling.result(timeout=30)
    run = run_of(db, lease.run_id)
    assert (run.state, run.cancel_requested) == ("succeeded", False)


def is_waited_for(db: Database) -> bool:
    """Whether a transaction of this database waits for another's lock."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with db.snapshot() as session:
        return bool(session.scalar(waiting))


def test_cancelling_and_notifying_at_the_same_time_never_wait_for_each_other(db: Database) -> None:
    experiments = [submitted(db, seeds=range(30)) for _ in range(2)]
    stop = threading.Event()

    def notify() -> None:
        while not stop.is_set():
            done(db, lambda s: lifecycle.notify_again(s, idle={"auto": 60}, after_seconds=-1))

    def cancel_and_retry() -> None:
        for _ in range(10):
            for experiment in experiments:
                done(db, partial(lifecycle.cancel, experiment_id=experiment.id))
                done(db, partial(lifecycle.retry, experiment_id=experiment.id))

    with ThreadPoolExecutor(4) as pool:
        notifying = [pool.submit(notify) for _ in range(2)]
        changing = [pool.submit(cancel_and_retry) for _ in range(2)]
        for future in changing:
            future.result(timeout=120)
        stop.set()
        for future in notifying:
            future.result(timeout=120)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_somebody_holds_is_passed_over_and_not_waited_for(db: Database) -> None:
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


def test_a_worker_that_is_gone_loses_its_own_runs_only(db: Database) -> None:
    submitted(db, seeds=[0, 1])
    theirs, ours = claimed(db, worker_id="wrk_gone").lease, claimed(db, worker_id="wrk_here").lease
    notifications = done(db, lambda s: lifecycle.take_back_from(s, "wrk_gone", max_attempts=9))
    assert notifications == [Notification(theirs.run_id, "auto")]
    assert run_of(db, theirs.run_id).history[0]["reason"] == "worker wrk_gone ended"
    assert run_of(db, ours.run_id).state == "running"

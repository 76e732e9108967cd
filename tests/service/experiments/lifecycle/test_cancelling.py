"""A cancel meets other verbs at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import text

from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease, LeaseLost
from tests.processes import until
from tests.service.experiments.lifecycle.verbs import WAYS_BACK, done
from tests.service.sample_runs import ALL_QUEUES, claimed, result_of, run_of, submitted


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
def test_a_cancel_during_a_return_to_the_queue_is_never_lost(db: Database, way: str) -> None:
    """Return a run and cancel it at once, many times. It always ends as cancelled and is not claimed again."""
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
        done(db, lambda s: lifecycle.take_back(s, max_attempts=9))  # the run is skipped while its row is locked
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
    """Tell if a transaction of this database waits for another's lock."""
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

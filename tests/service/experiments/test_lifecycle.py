"""The verbs that change a run's state: each on a real database, each refused to whoever lost the run."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.events import Analysed
from normcore.spec import digest, resolve
from service.db import Database, epoch_now
from service.errors import Conflict, NotFound
from service.experiments import lifecycle, submission
from service.experiments.lifecycle import Claim, Lease, LeaseLost
from service.experiments.tables import Experiment, Label, Run
from service.queue import Notification
from tests.service.given import (
    ALL_QUEUES,
    MAX_STEPS,
    begun,
    claimed,
    failed,
    finished,
    measured,
    recorded,
    result_of,
    rows_of,
    run_of,
    started,
    submitted,
    written,
)

MAX_ATTEMPTS = 3


def claim_one(db: Database, worker_id: str = "wrk_1", queues: Sequence[str] = ALL_QUEUES) -> Claim | None:
    with db.transaction() as session:
        return lifecycle.claim(session, queues=queues, worker_id=worker_id, lease_seconds=60)


def taken_back(db: Database, max_attempts: int = MAX_ATTEMPTS) -> list[Notification]:
    with db.transaction() as session:
        return lifecycle.take_back(session, max_attempts=max_attempts)


def released(db: Database, lease: Lease, reason: str = "its worker stopped") -> Notification | None:
    with db.transaction() as session:
        return lifecycle.release(session, lease, reason)


def cancel(db: Database, experiment_id: str) -> None:
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)


def retry(db: Database, experiment_id: str) -> list[Notification]:
    with db.transaction() as session:
        return lifecycle.retry(session, experiment_id)


def everything_of(run: Run) -> dict[str, Any]:
    return {column.key: getattr(run, column.key) for column in Run.__table__.columns}


def database_time(db: Database) -> float:
    with db.snapshot() as session:
        return session.scalars(select(epoch_now())).one()


# -- submit -----------------------------------------------------------------------------------------


def test_a_submitted_experiment_is_stored_with_one_queued_run_for_each_seed(db: Database) -> None:
    experiment = submitted(
        db, "recurrent_batch_norm", seeds=[3, 1, 2], device="cpu", priority=7, labels={"team": "vision", "day": "1"}
    )
    with db.snapshot() as session:
        stored = session.get_one(Experiment, experiment.id)
        assert (stored.task, stored.profile, stored.method) == ("permuted_digits", "smoke", "recurrent_batch_norm")
        assert stored.spec == resolve(stored.spec).model_dump(mode="json"), "the resolved spec is what is stored"
        assert stored.fingerprint == resolve(stored.spec).fingerprint()
        assert [run.seed for run in stored.runs] == [3, 1, 2]
        for run in stored.runs:
            assert (run.state, run.attempt, run.queue, run.priority) == ("queued", 1, "cpu", 7)
            assert (run.step, run.max_steps, run.history, run.cancel_requested) == (0, MAX_STEPS, [], False)
            assert run.started_at is None
            assert run.notified_at == pytest.approx(database_time(db), abs=30)
        labels = session.execute(select(Label.key, Label.value).where(Label.experiment_id == stored.id)).all()
        assert sorted(tuple(label) for label in labels) == [("day", "1"), ("team", "vision")]


def test_a_submission_that_is_not_committed_leaves_nothing(db: Database) -> None:
    spec = resolve(written(seeds=[0, 1], labels={"a": "b"}))
    with db.transaction() as session:
        submission.submit(session, spec, request_digest="d")
        session.rollback()
    with db.snapshot() as session:
        for table in (Experiment, Run, Label):
            assert session.scalar(select(func.count()).select_from(table)) == 0


def submit_with_key(db: Database, body: dict[str, Any], key: str) -> tuple[str, bool]:
    with db.transaction() as session:
        experiment, created = submission.submit(
            session, resolve(body), request_digest=digest(body), idempotency_key=key
        )
        return experiment.id, created


def test_the_same_key_and_body_finds_the_same_experiment_and_another_body_is_refused(db: Database) -> None:
    first, created = submit_with_key(db, written(), "k")
    assert created
    assert submit_with_key(db, written(), "k") == (first, False)
    with pytest.raises(Conflict):
        submit_with_key(db, written("none"), "k")
    assert submit_with_key(db, written("none"), "l")[0] != first
    with db.snapshot() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 2


# -- claim ------------------------------------------------------------------------------------------


def test_a_claim_holds_all_that_a_worker_needs_and_marks_the_run_as_its_own(db: Database) -> None:
    experiment = submitted(db, seeds=[7])
    claim = claimed(db, worker_id="wrk_7", lease_seconds=60)
    assert (claim.lease.run_id, claim.lease.attempt, claim.seed) == (experiment.runs[0].id, 1, 7)
    assert claim.spec == experiment.spec
    run = run_of(db, claim.lease.run_id)
    assert (run.state, run.worker_id) == ("running", "wrk_7")
    assert run.lease_expires_at == pytest.approx(database_time(db) + 60, abs=20)
    assert run.started_at is not None
    assert claim_one(db) is None


def test_many_workers_that_claim_at_once_get_every_run_once(db: Database) -> None:
    experiment = submitted(db, seeds=range(24))
    ready = threading.Barrier(8)

    def work(name: str) -> list[str]:
        ready.wait()
        mine = []
        while (claim := claim_one(db, name)) is not None:
            mine.append(claim.lease.run_id)
        return mine

    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(work, [f"wrk_{k}" for k in range(8)]))
    got = [run_id for share in shares for run_id in share]
    assert sorted(got) == sorted(run.id for run in experiment.runs)
    for k, share in enumerate(shares):
        assert {run_of(db, run_id).worker_id for run_id in share} <= {f"wrk_{k}"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_claim_does_not_wait_for_another_and_takes_the_next_run(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    with db.transaction() as session:
        slow = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_slow", lease_seconds=60)
        with ThreadPoolExecutor(1) as pool:
            quick = pool.submit(claim_one, db, "wrk_quick").result(timeout=10)
    assert [claim and claim.lease.run_id for claim in (slow, quick)] == [run.id for run in experiment.runs]


def test_the_most_urgent_run_goes_first(db: Database) -> None:
    low, high, usual = (submitted(db, seeds=[0, 1], priority=p) for p in (0, 9, 5))
    expected = [*high.runs, *usual.runs, *low.runs]
    assert [claimed(db).lease.run_id for _ in expected] == [run.id for run in expected]


def test_a_worker_gets_only_runs_of_its_own_queues(db: Database) -> None:
    cuda, cpu = submitted(db, device="cuda"), submitted(db, device="cpu")
    auto = submitted(db, device="auto")
    got = [claim_one(db, queues=("auto", "cpu")) for _ in range(3)]
    assert [claim and claim.lease.run_id for claim in got] == [cpu.runs[0].id, auto.runs[0].id, None]
    assert run_of(db, cuda.runs[0].id).state == "queued"


# -- the fence --------------------------------------------------------------------------------------

WRITES: dict[str, Callable[[Session, Lease], Any]] = {
    "start": lambda s, lease: lifecycle.start(s, lease, started(0), device="cuda:0", resumed_from=None, notes=["n"]),
    "record": lambda s, lease: lifecycle.record(s, lease, [measured(15)], step=15, seconds=9.0, pace=1.0),
    "finish": lambda s, lease: lifecycle.finish(s, lease, "completed", result_of()),
    "finish_analysis": lambda s, lease: lifecycle.finish_analysis(s, lease, Analysed((), 1.0)),
    "fail": lambda s, lease: lifecycle.fail(s, lease, "broken"),
    "cancelled": lifecycle.cancelled,
    "release": lambda s, lease: lifecycle.release(s, lease, "stopping"),
    "defer": lambda s, lease: lifecycle.defer(s, lease, "disk full"),
    "lose": lambda s, lease: lifecycle.lose(s, lease, "gone", max_attempts=9),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("since", ["queued again", "running again", "ended"])
def test_who_lost_the_run_can_write_nothing(db: Database, write: str, since: str) -> None:
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
def test_who_holds_the_run_can_write(db: Database, write: str) -> None:
    submitted(db)
    lease = claimed(db).lease
    before = everything_of(run_of(db, lease.run_id))
    with db.transaction() as session:
        WRITES[write](session, lease)
    assert everything_of(run_of(db, lease.run_id)) != before


# -- leases -----------------------------------------------------------------------------------------


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


def test_recording_renews_the_lease(db: Database) -> None:
    submitted(db)
    nearly_gone = claimed(db, lease_seconds=-1).lease
    recorded(db, Lease(nearly_gone.run_id, nearly_gone.attempt, 60.0))
    assert taken_back(db) == []
    assert run_of(db, nearly_gone.run_id).lease_expires_at == pytest.approx(database_time(db) + 60, abs=20)


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
    assert run.error.startswith(f"lost {MAX_ATTEMPTS} times at one place: ")
    assert all(f"wrk_{k}" in run.error for k in range(MAX_ATTEMPTS))
    assert run.finished_at is not None
    assert claim_one(db) is None


def test_giving_a_run_back_in_order_does_not_count_as_losing_it(db: Database) -> None:
    submitted(db)
    for _ in range(MAX_ATTEMPTS + 2):
        lease = claimed(db).lease
        assert released(db, lease) == Notification(lease.run_id, "auto")
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt, run.times_lost) == ("queued", MAX_ATTEMPTS + 3, 0)
    assert [entry["attempt"] for entry in run.history] == list(range(1, MAX_ATTEMPTS + 3))


# -- cancel and retry -------------------------------------------------------------------------------


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
        lifecycle.cancelled(session, running)
    assert run_of(db, running.run_id).state == "cancelled"
    assert claim_one(db) is None


@pytest.mark.parametrize("how", ["lease ran out", "training process died"])
def test_a_run_that_is_lost_after_somebody_cancelled_it_is_cancelled(db: Database, how: str) -> None:
    experiment = submitted(db)
    lease = claimed(db, lease_seconds=-1).lease
    cancel(db, experiment.id)
    if how == "lease ran out":
        assert taken_back(db) == []
    else:
        with db.transaction() as session:
            assert lifecycle.lose(session, lease, "killed", max_attempts=9) is None
    run = run_of(db, lease.run_id)
    assert (run.state, run.attempt, run.error) == ("cancelled", 1, None)


def test_what_has_ended_stays_as_it_is_when_cancelled(db: Database) -> None:
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
        lifecycle.cancelled(session, lease)
    assert len(retry(db, experiment.id)) == 1
    again = claimed(db).lease
    assert again.attempt == 2
    assert recorded(db, again) is False


@pytest.mark.parametrize("verb", [lifecycle.cancel, lifecycle.retry])
def test_an_unknown_experiment_is_not_found(db: Database, verb: Callable[[Session, str], Any]) -> None:
    with pytest.raises(NotFound, match="exp_nope"), db.transaction() as session:
        verb(session, "exp_nope")


# -- what is measured -------------------------------------------------------------------------------


def test_recording_the_same_batch_again_changes_nothing(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    batch = [measured(5, valid__accuracy=0.1, valid__loss=2.0), measured(10, valid__accuracy=0.3, valid__loss=1.5)]
    recorded(db, lease, *batch)
    once = rows_of(db, lease.run_id)
    assert once == [
        (5, "valid.accuracy", 0.1, 2.5, 1),
        (5, "valid.loss", 2.0, 2.5, 1),
        (10, "valid.accuracy", 0.3, 5.0, 1),
        (10, "valid.loss", 1.5, 5.0, 1),
    ]
    recorded(db, lease, *batch)
    assert rows_of(db, lease.run_id) == once
    run = run_of(db, lease.run_id)
    assert (run.step, run.seconds, run.steps_per_second) == (10, 5.0, 10.0)


def test_a_later_attempts_measurement_takes_the_place_of_an_earlier_attempts(db: Database) -> None:
    submitted(db)
    first = claimed(db).lease
    recorded(db, first, measured(5, valid__loss=2.0))
    released(db, first)
    second = claimed(db).lease
    recorded(db, second, measured(5, valid__loss=2.5))
    assert rows_of(db, first.run_id) == [(5, "valid.loss", 2.5, 2.5, 2)]


def test_beginning_at_a_checkpoint_undoes_what_was_measured_after_it(db: Database) -> None:
    submitted(db)
    first = claimed(db).lease
    begun(db, first)
    recorded(db, first, measured(5), measured(10), measured(15))
    released(db, first)
    second = claimed(db).lease
    with db.transaction() as session:
        lifecycle.start(session, second, started(10), device="cuda:0", resumed_from=10, notes=["a torn checkpoint"])
    assert [(row[0], row[4]) for row in rows_of(db, first.run_id)] == [(5, 1), (10, 1)]
    run = run_of(db, first.run_id)
    assert (run.step, run.resumed_from_step, run.device, run.kernel) == (10, 10, "cuda:0", "reference")
    assert run.environment == {"torch": "2.9"}
    assert [(entry["attempt"], entry["reason"]) for entry in run.history] == [
        (1, "its worker stopped"),
        (2, "a torn checkpoint"),
    ]


def test_a_run_that_ends_keeps_its_result_and_nobodys_lease(db: Database) -> None:
    submitted(db)
    lease = claimed(db).lease
    finished(db, lease, "diverged", value=None, valid_value=None, step=None)
    run = run_of(db, lease.run_id)
    assert (run.state, run.outcome, run.value) == ("succeeded", "diverged", None)
    assert run.result is not None
    assert run.result["train_seconds"] == run.seconds == 4.0
    assert (run.steps_to_target, run.seconds_to_target) == (20, 2.0)
    assert (run.worker_id, run.lease_expires_at) == (None, None)
    assert run.finished_at is not None
    assert taken_back(db) == []


# -- notifying again ----------------------------------------------------------------------------------


def notified_again(db: Database, idle: dict[str, int], after_seconds: float) -> list[str]:
    with db.transaction() as session:
        return sorted(
            notification.run_id
            for notification in lifecycle.notify_again(session, idle=idle, after_seconds=after_seconds)
        )


def test_only_queues_with_idle_workers_are_notified_again_and_once_for_each_worker(db: Database) -> None:
    cpu = submitted(db, seeds=range(3), device="cpu")
    cuda = submitted(db, device="cuda")
    assert notified_again(db, {}, after_seconds=-1) == []
    assert notified_again(db, {"cpu": 2}, after_seconds=-1) == [run.id for run in cpu.runs[:2]]
    assert notified_again(db, {"auto": 1, "cuda": 5}, after_seconds=-1) == [cuda.runs[0].id]


def test_a_run_is_not_rung_again_before_its_last_message_is_some_time_ago(db: Database) -> None:
    experiment = submitted(db)
    run_id = experiment.runs[0].id
    assert notified_again(db, {"auto": 1}, after_seconds=60) == []
    with db.transaction() as session:
        session.get_one(Run, run_id).notified_at = database_time(db) - 61
    assert notified_again(db, {"auto": 1}, after_seconds=60) == [run_id]
    assert notified_again(db, {"auto": 1}, after_seconds=60) == [], "the notification itself counts as the last message"


def test_only_queued_runs_are_rung_again(db: Database) -> None:
    submitted(db, seeds=[0, 1])
    claimed(db)
    finished(db, claimed(db).lease)
    assert notified_again(db, {"auto": 9}, after_seconds=-1) == []

"""Writing of a run's results by its worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from normcore.events import Measured, Outcome, Result, Started
from normcore.spec import resolve
from service.db import Database
from service.experiments import lifecycle, queries, submission
from service.experiments.lifecycle import ClaimedRun, LeaseLost
from service.experiments.tables import Run
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from service.leaderboards import queries as boards
from service.processes.migrate import migrate
from service.workload import queries as workload
from tests.processes import until
from tests.service.sample_runs import result_of, started_on, timing_of
from workers.messages import Progress, RunFinished, RunStarted, Saved
from workers.report import GaveUp, RunReport
from workers.settings import WorkerSettings

WORKER = WorkerIdentity("wrk_1", "here", 1, "cpu", ("auto", "cpu"))
STARTED = RunStarted(Started(0, 40, "reference", 10, {"torch": "2"}), None, (), ("checkpoint-7.pt is torn",))
PATIENT = WorkerSettings(flush_seconds=1000, heartbeat_seconds=1000)


def ended(result: Result, outcome: Outcome = "completed") -> RunFinished:
    return RunFinished(outcome, result, timing_of(), started_on())


def claimed(db: Database) -> ClaimedRun:
    spec = resolve({"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}})
    with db.transaction() as session:
        registration.heartbeat(session, WORKER)
        submission.submit(session, spec, memory_bytes=None, request_digest="")
        claim = lifecycle.claim(session, queues=WORKER.queues, worker_id=WORKER.id, lease_seconds=60)
    assert claim
    return claim


def begun(db: Database, settings: WorkerSettings) -> tuple[RunReport, ClaimedRun]:
    claim = claimed(db)
    report = RunReport(db, settings, claim.lease, WORKER.device, threading.Event())
    report.note_start(STARTED)
    report.flush()
    return report, claim


def test_the_phase_of_an_evaluation_is_written_until_there_is_an_update_again(db: Database) -> None:
    report, claim = begun(db, PATIENT)

    def stored() -> str | None:
        report.flush()
        with db.snapshot() as session:
            return session.get_one(Run, claim.lease.run_id).phase

    report.note(Progress(5, 0.5, "validation"))
    assert stored() == "validation"
    report.note(Measured(5, 0.9, {"train.loss": 1.0}))
    report.note(Progress(6, 1.0))
    assert stored() is None


def rename(db: Database, table: str, name: str) -> None:
    """Rename a table. While it has another name, nothing can be stored in it."""
    with db.engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO {name}")


def test_the_start_of_a_run_is_due_at_once_and_undoes_later_measurements(db: Database) -> None:
    claim = claimed(db)
    with db.transaction() as session:
        measured = [Measured(step, step / 10, {"train.loss": 1.0}) for step in (5, 10, 15)]
        lifecycle.record(session, claim.lease, measured, step=15, seconds=1.5, pace=None)
    report = RunReport(db, PATIENT, claim.lease, WORKER.device, threading.Event())
    brought = (Measured(8, 0.8, {"train.loss": 0.5}),)
    report.note_start(RunStarted(Started(10, 40, "reference", 10, {}), 10, brought, ()))
    assert report.is_due
    assert report.flush() == 8
    with db.snapshot() as session:
        curves = queries.measurements(session, claim.lease.run_id, series=[], max_points=None).series
    assert [step for step, *_ in curves["train.loss"].points] == [5, 8, 10]


def test_a_failed_write_is_repeated_and_only_then_reported_as_stored(tmp_path: Path) -> None:
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
    report, claim = begun(db, PATIENT)
    report.note(Measured(10, 1.0, {"train.loss": 1.0}))
    rename(db, "measurements", "away")
    assert report.flush() is None
    report.note(Measured(20, 2.0, {"train.loss": 0.5}))
    rename(db, "away", "measurements")
    assert report.flush() == 20
    with db.snapshot() as session:
        curves = queries.measurements(session, claim.lease.run_id, series=[], max_points=None).series
    assert [step for step, *_ in curves["train.loss"].points] == [10, 20]
    assert report.flush() is None
    db.close()


def test_a_worker_that_stops_does_not_insist_on_a_database_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.report.INSIST_SECONDS", 0.3)
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
    claim, stopping = claimed(db), threading.Event()
    report = RunReport(db, PATIENT, claim.lease, WORKER.device, stopping)
    rename(db, "runs", "away")
    stopping.set()
    with pytest.raises(GaveUp):
        report.release_run("its worker stopped")
    db.close()


def test_a_deferred_run_is_queued_after_a_pause_with_the_reason(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    report.defer_run("artifact store: OSError: [Errno 28] No space left on device")
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
    assert (run.state, run.attempt) == ("queued", 2)
    assert run.history[-1].reason.startswith("artifact store: OSError: [Errno 28] No space left on device")
    assert run.history[-1].lost is False


def test_a_stored_checkpoint_counts_as_progress(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    with db.transaction() as session:
        session.execute(update(Run).values(times_lost=3))
    report.note(Saved(20))
    report.write_loss("killed")
    with db.snapshot() as session:
        assert session.get_one(Run, claim.lease.run_id).times_lost == 1


def test_the_first_step_is_due_at_once_and_later_ones_are_not(db: Database) -> None:
    report, _ = begun(db, PATIENT)
    assert not report.is_due
    report.note(Progress(1, 0.1))
    assert report.is_due
    report.flush()
    report.note(Progress(2, 0.2))
    assert not report.is_due


@pytest.mark.parametrize(("flush_seconds", "due"), [(1e-9, True), (1000, False)])
def test_measurements_are_due_after_the_flush_time(db: Database, flush_seconds: float, due: bool) -> None:
    report, _ = begun(db, WorkerSettings(flush_seconds=flush_seconds, heartbeat_seconds=1000))
    report.note(Progress(1, 0.1))
    report.flush()
    report.note(Progress(2, 0.2))
    assert not report.is_due, "mere progress waits longer"
    report.note(Measured(10, 0.2, {"valid.accuracy": 0.5}))
    assert report.is_due == due


def test_a_silent_run_is_due_at_its_heartbeat(db: Database) -> None:
    report, _ = begun(db, WorkerSettings(flush_seconds=1000, heartbeat_seconds=0.05))
    until(lambda: report.is_due, 5, lambda: "never due")


def test_noted_progress_and_measurements_are_stored_with_the_run(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    for step in (10, 20):
        report.note(Progress(step, step / 10))
        report.note(Measured(step, step / 10, {"valid.accuracy": step / 100, "train.loss": 1.0}))
    report.flush()
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
        curves = queries.measurements(session, run.id, series=[], max_points=None).series
    assert (run.progress.step, run.device, run.kernel, run.environment) == (20, "cpu", "reference", {"torch": "2"})
    assert [entry.reason for entry in run.history] == ["checkpoint-7.pt is torn"]
    assert curves["valid.accuracy"].points == [(10, 0.1, 1.0), (20, 0.2, 2.0)]
    assert set(curves) == {"valid.accuracy", "train.loss"}


def test_curves_include_unwritten_measurements_and_those_of_earlier_attempts(db: Database) -> None:
    claim = claimed(db)
    with db.transaction() as session:
        earlier = [Measured(step, step / 10, {"train.loss": 1.0}) for step in (5, 10)]
        lifecycle.record(session, claim.lease, earlier, step=10, seconds=1.0, pace=None)
    report = RunReport(db, PATIENT, claim.lease, WORKER.device, threading.Event())
    report.note_start(RunStarted(Started(10, 40, "reference", 10, {}), 10, (), ()))
    report.note(Measured(40, 4.0, {"train.loss": 0.5}))
    [line] = report.curves()["data"]
    assert (line["x"], line["y"]) == ([5, 10, 40], [1.0, 1.0, 0.5])
    report.write_result(ended(result_of()))
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
        curves = queries.measurements(session, run.id, series=[], max_points=None).series
    assert run.state == "succeeded"
    assert [entry.reason for entry in run.history] == []
    assert [step for step, *_ in curves["train.loss"].points] == [5, 10, 40]


def test_curves_wait_for_a_database_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.report.RETRY_SECONDS", 0.05)
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
    report, _ = begun(db, PATIENT)
    report.note(Measured(10, 1.0, {"train.loss": 1.0}))
    rename(db, "measurements", "away")

    def come_back() -> None:
        rename(db, "away", "measurements")

    timer = threading.Timer(0.5, come_back)
    timer.start()
    [line] = report.curves()["data"]
    timer.join()
    assert line["x"] == [10]
    db.close()


def test_the_end_stores_last_measurements_result_and_board_entry_together(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    report.note(Progress(40, 4.0))
    report.note(Measured(40, 4.0, {"valid.accuracy": 0.9}))
    report.write_result(ended(result_of(value=0.8, steps_to_target=40), "reached_target"))
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
        board = boards.leaderboard(session, boards.BoardRequest("permuted_digits", "smoke"))
        [(_, training)] = workload.read_workers_with_runs(session, 1000)
    assert (run.state, run.outcome, run.progress.step) == ("succeeded", "reached_target", 40)
    assert [(e.method, e.n_runs, e.value and e.value.mean) for e in board.entries] == [("layer_norm", 1, 0.8)]
    assert training is None


def test_an_end_that_was_stored_counts_though_the_answer_was_lost(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, claim = begun(db, PATIENT)
    transaction = db.transaction
    monkeypatch.setattr("workers.report.RETRY_SECONDS", 0.0)

    @contextmanager
    def unlucky() -> Iterator[Session]:
        with transaction() as session:
            yield session
        monkeypatch.setattr(db, "transaction", transaction)
        raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    monkeypatch.setattr(db, "transaction", unlucky)
    report.write_result(ended(result_of(value=0.8)))
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
    assert (run.state, run.attempt) == ("succeeded", 1)


def test_an_attempt_that_was_taken_over_writes_nothing(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    with db.transaction() as session:
        lifecycle.release(session, claim.lease, "handed over")
    report.note(Measured(10, 1.0, {"valid.accuracy": 0.5}))
    with pytest.raises(LeaseLost):
        report.flush()
    with pytest.raises(LeaseLost):
        report.write_result(ended(result_of(value=0.8)))
    with db.snapshot() as session:
        run = queries.run(session, claim.lease.run_id)
        assert queries.measurements(session, run.id, series=[], max_points=None).series == {}
    assert (run.state, run.attempt, run.result) == ("queued", 2, None)


def test_an_attempt_does_not_take_the_success_of_a_later_one_for_its_own(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    finished = ended(result_of(value=0.8))
    with db.transaction() as session:
        lifecycle.release(session, claim.lease, "handed over")
        later = lifecycle.claim(session, queues=WORKER.queues, worker_id="wrk_2", lease_seconds=60)
        assert later is not None
        lifecycle.finish(session, later.lease, finished.outcome, finished.result)
    with pytest.raises(LeaseLost):
        report.write_result(finished)


def test_a_request_to_cancel_is_noticed_at_the_next_write(db: Database) -> None:
    report, claim = begun(db, PATIENT)
    report.flush()
    assert not report.cancel_requested
    with db.transaction() as session:
        lifecycle.cancel(session, _experiment_of(db, claim))
    report.flush()
    assert report.cancel_requested
    report.write_cancellation()
    with db.snapshot() as session:
        assert queries.run(session, claim.lease.run_id).state == "cancelled"


def _experiment_of(db: Database, claim: ClaimedRun) -> str:
    with db.snapshot() as session:
        return queries.run(session, claim.lease.run_id).experiment_id

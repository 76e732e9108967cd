"""How a worker follows a training: what it tells the training process, and when."""

import logging
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from service.processes.migrate import migrate
from service.queue import Notifier, make_celery
from service.settings import read_settings
from tests.processes import until
from tests.service.given import claimed, run_of, submitted
from tests.workers.test_trainer import LONG, job
from workers import bundle
from workers.messages import RunFinished
from workers.node import identify
from workers.report import Report
from workers.settings import WorkerSettings
from workers.tasks import Executor, Watch
from workers.trainer import Trainer


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
    yield db
    db.close()


def test_a_worker_that_cannot_start_a_training_gives_the_run_back_and_claims_no_other(
    tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (submitted(db, seeds=[seed]).runs[0].id for seed in (0, 1))
    settings = read_settings(WorkerSettings, data_dir=tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    notifier = Notifier(make_celery(settings))
    executor = Executor(db, settings, identify("cpu", "wrk_1"), notifier)
    executor.execute_next()
    executor.execute_next()
    notifier.close()
    run = run_of(db, first)
    assert (run.state, run.attempt, run.times_lost, run.times_deferred) == ("queued", 2, 0, 1)
    assert run.history[0]["reason"].startswith("its worker could not start the training: FileNotFoundError: ")
    assert (run_of(db, second).state, run_of(db, second).attempt) == ("queued", 1)
    assert "claiming nothing, still in trouble: FileNotFoundError" in caplog.text


def test_an_attempt_that_is_overtaken_at_its_very_end_leaves_no_model(
    tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = submitted(db).runs[0].id
    settings = read_settings(WorkerSettings, data_dir=tmp_path)
    notifier = Notifier(make_celery(settings))
    write_the_end = Report.finished

    def overtaken(report: Report, message: RunFinished) -> None:
        with db.transaction() as session:
            lifecycle.take_back_from(session, "wrk_1", max_attempts=5)
        write_the_end(report, message)

    monkeypatch.setattr(Report, "finished", overtaken)
    Executor(db, settings, identify("cpu", "wrk_1"), notifier).execute_next()
    assert (run_of(db, run_id).state, run_of(db, run_id).attempt) == ("queued", 2)
    store = Artifacts(settings.artifacts_url)
    assert "model.pt" not in {artifact.name for artifact in store.list(run_id)}
    assert store.list(run_id)
    monkeypatch.undo()
    Executor(db, settings, identify("cpu", "wrk_2"), notifier).execute_next()
    notifier.close()
    assert [artifact.attempt for artifact in store.list(run_id) if artifact.name == "model.pt"] == [2]


def test_what_could_not_be_stored_stays_in_the_checkpoint(
    tmp_path: Path, db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    submitted(db)
    lease, stopping = claimed(db).lease, threading.Event()
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE measurements RENAME TO away")
    settings = WorkerSettings(flush_seconds=0.05)
    trainer = Trainer(job(tmp_path, **LONG))

    def stop_after_three_failed_flushes() -> None:
        until(lambda: sum("wait:" in record.message for record in caplog.records) >= 3, 60, lambda: caplog.text)
        stopping.set()

    with caplog.at_level(logging.WARNING):
        stopper = threading.Thread(target=stop_after_three_failed_flushes)
        stopper.start()
        Watch(trainer, Report(db, settings, lease, "cpu", stopping), settings, 60.0, stopping).until_end()
        stopper.join()
    trainer.close()
    store = Artifacts(str(tmp_path))
    newest = [a for a in store.list("run_1") if a.name.startswith("checkpoint-")][-1]
    _, brought = bundle.unpack(store.read("run_1", newest.attempt, newest.name))
    assert [measured.step for measured in brought][:2] == [5, 10]

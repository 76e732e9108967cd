"""How a worker follows a training: what it tells the training process, and when."""

import logging
import threading
from pathlib import Path

import pytest

from service.artifacts import Artifacts
from service.db import Database
from service.migrate import migrate
from tests.processes import until
from tests.service.given import claimed, submitted
from tests.workers.test_trainer import LONG, job
from workers import bundle
from workers.report import Report
from workers.settings import WorkerSettings
from workers.tasks import Watch
from workers.trainer import Trainer


def test_what_could_not_be_stored_stays_in_the_checkpoint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
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
    db.close()
    store = Artifacts(str(tmp_path))
    newest = [a for a in store.list("run_1") if a.name.startswith("checkpoint-")][-1]
    _, brought = bundle.unpack(store.read("run_1", newest.attempt, newest.name))
    assert [measured.step for measured in brought][:3] == [5, 10, 15]

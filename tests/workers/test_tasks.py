"""Following of a training by its worker: the messages to the training process, and their times."""

import errno
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import update

from normcore.figures import Figure, as_json
from service.artifacts import CHECKPOINT, Artifacts, is_output
from service.db import Database
from service.experiments import figures, lifecycle, queries
from service.experiments.tables import Run
from service.processes.migrate import migrate
from service.queue import Notifier, make_celery
from service.settings import read_settings
from tests.processes import until
from tests.service.sample_runs import claimed, rows_of, run_of, submitted
from tests.workers.test_trainer import LONG, job
from workers import bundle
from workers.memory import MemoryWatch
from workers.messages import RunFinished
from workers.node import identify
from workers.report import RunReport
from workers.settings import WorkerSettings
from workers.tasks import Executor, Watch
from workers.trainer import Trainer

BRIEF: dict[str, Any] = {"max_steps": 2, "eval_every": 1, "target": None}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database(f"sqlite:///{tmp_path / 'normbench.db'}")
    migrate(db)
    yield db
    db.close()


def test_a_worker_that_cannot_start_a_training_gives_back_the_run_and_waits(
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


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    return read_settings(WorkerSettings, data_dir=tmp_path, checkpoint_seconds=0.1)


@pytest.fixture
def executor_of(db: Database, settings: WorkerSettings) -> Iterator[Callable[[str], Executor]]:
    """Makes the executor of a worker by its id."""
    notifier = Notifier(make_celery(settings))
    yield lambda worker_id: Executor(db, settings, identify("cpu", worker_id), notifier)
    notifier.close()


def curves_of(db: Database, run_id: str) -> Figure:
    """Curves as the API draws them."""
    with db.snapshot() as session:
        return figures.curves_of(session, queries.run(session, run_id))


@pytest.mark.parametrize("moment", ["curves", "write_result"])
def test_an_attempt_that_is_overtaken_at_its_very_end_leaves_no_outputs(
    settings: WorkerSettings,
    db: Database,
    executor_of: Callable[[str], Executor],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    run_id = submitted(db, training=BRIEF).runs[0].id
    write_on = getattr(RunReport, moment)

    def overtaken(report: RunReport, *message: RunFinished) -> object:
        with db.transaction() as session:
            lifecycle.take_back_from(session, "wrk_1", max_attempts=5)
        return write_on(report, *message)

    monkeypatch.setattr(RunReport, moment, overtaken)
    executor_of("wrk_1").execute_next()
    assert (run_of(db, run_id).state, run_of(db, run_id).attempt) == ("queued", 2)
    store = Artifacts(settings.artifacts_url)
    left = {artifact.name for artifact in store.list(run_id)}
    assert left >= {"environment.json", "log.txt"}
    assert not any(map(is_output, left))
    monkeypatch.undo()
    executor_of("wrk_2").execute_next()
    outputs = {(artifact.attempt, artifact.name) for artifact in store.list(run_id) if is_output(artifact.name)}
    assert outputs == {(2, name) for name in ("model.pt", "figures/curves.json", "figures/confusion_matrix.json")}


@pytest.mark.parametrize(
    "spec",
    [
        {"task": {"name": "permuted_digits", "profile": "smoke"}},
        {"task": {"name": "gradient_flow", "profile": "smoke"}},
    ],
    ids=["a training", "an analysis"],
)
def test_the_curves_of_a_run_are_among_its_artifacts_as_the_api_draws_them(
    settings: WorkerSettings, db: Database, executor_of: Callable[[str], Executor], spec: dict[str, Any]
) -> None:
    run_id = submitted(db, **spec).runs[0].id
    executor_of("wrk_1").execute_next()
    assert run_of(db, run_id).state == "succeeded"
    stored = json.loads(Artifacts(settings.artifacts_url).read(run_id, 1, "figures/curves.json"))
    assert stored == json.loads(as_json(curves_of(db, run_id)))
    assert all(line["x"] for line in stored["data"])
    assert stored["data"]


def test_the_curves_of_a_resumed_run_begin_where_its_first_attempt_did(
    settings: WorkerSettings, db: Database, executor_of: Callable[[str], Executor]
) -> None:
    training = {"max_steps": 300, "eval_every": 25, "target": None}
    run_id = submitted(db, training=training).runs[0].id
    first = executor_of("wrk_1")
    thread = threading.Thread(target=first.execute_next)
    thread.start()
    until(lambda: len(curves_of(db, run_id)["data"]) > 0, 60, lambda: "nothing is measured")
    first.stopping.set()
    thread.join()
    assert run_of(db, run_id).state == "queued"
    assert not any(is_output(artifact.name) for artifact in Artifacts(settings.artifacts_url).list(run_id))
    executor_of("wrk_2").execute_next()
    run = run_of(db, run_id)
    assert (run.state, run.attempt) == ("succeeded", 2)
    assert run.resumed_from_step
    stored = json.loads(Artifacts(settings.artifacts_url).read(run_id, 2, "figures/curves.json"))
    assert {tuple(line["x"]) for line in stored["data"]} == {tuple(range(25, 301, 25))}
    assert {attempt for *_, attempt in rows_of(db, run_id)} == {1, 2}


def test_the_log_of_a_killed_training_process_is_kept(tmp_path: Path, db: Database) -> None:
    """The training process stores its log with its checkpoints, and has no checkpoint yet."""
    run_id = submitted(db, training=LONG).runs[0].id
    settings = read_settings(WorkerSettings, data_dir=tmp_path, checkpoint_seconds=1e9)
    notifier = Notifier(make_celery(settings))
    before = set(leaders())
    thread = threading.Thread(target=Executor(db, settings, identify("cpu", "wrk_1"), notifier).execute_next)
    thread.start()
    until(lambda: run_of(db, run_id).step > 0, 60, lambda: "it does not train")
    [training] = set(leaders()) - before
    training.kill()
    thread.join()
    notifier.close()
    run = run_of(db, run_id)
    assert (run.state, run.attempt, run.times_lost) == ("queued", 2, 1)
    assert b"attempt 1 on cpu" in Artifacts(settings.artifacts_url).read(run_id, 1, "log.txt")


def leaders() -> list[psutil.Process]:
    """Processes of ours that lead a group of their own, as a training's does."""
    return [child for child in psutil.Process().children(recursive=True) if os.getpgid(child.pid) == child.pid]


def test_a_run_whose_curves_cannot_be_stored_waits_and_keeps_its_checkpoints(
    settings: WorkerSettings, db: Database, executor_of: Callable[[str], Executor], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, other = (submitted(db, seeds=[seed], training=BRIEF).runs[0].id for seed in (0, 1))
    write = Artifacts.write

    def full(store: Artifacts, run_id: str, attempt: int, name: str, content: bytes) -> None:
        if name in ("figures/curves.json", "probe"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(store, run_id, attempt, name, content)

    monkeypatch.setattr(Artifacts, "write", full)
    executor = executor_of("wrk_1")
    executor.execute_next()
    executor.execute_next()
    run = run_of(db, run_id)
    assert (run.state, run.attempt, run.times_deferred, run.times_lost) == ("queued", 2, 1, 0)
    assert (run_of(db, other).state, run_of(db, other).attempt) == ("queued", 1), "the store takes nothing yet"
    assert run.history[0]["reason"].startswith("artifact store: OSError: [Errno 28] No space left on device; ")
    store = Artifacts(settings.artifacts_url)
    assert any(CHECKPOINT.fullmatch(artifact.name) for artifact in store.list(run_id))
    monkeypatch.setattr(Artifacts, "write", write)
    with db.transaction() as session:
        session.execute(update(Run).values(not_before=None))
    executor.execute_next()
    run = run_of(db, run_id)
    assert (run.state, run.attempt) == ("succeeded", 2)
    assert run.resumed_from_step
    assert {a.attempt for a in store.list(run_id) if is_output(a.name)} == {2}


def test_measurements_that_could_not_be_stored_stay_in_the_checkpoint(
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
        report, memory = RunReport(db, settings, lease, "cpu", stopping), MemoryWatch(trainer.pid, 8 << 30)
        Watch(trainer, report, settings, 60.0, stopping, memory).until_end()
        stopper.join()
    trainer.close()
    store = Artifacts(str(tmp_path))
    newest = [a for a in store.list("run_1") if a.name.startswith("checkpoint-")][-1]
    brought = bundle.unpack(store.read("run_1", newest.attempt, newest.name)).measured
    steps = [measured.step for measured in brought]
    assert steps == list(range(5, 5 * len(steps) + 1, 5)), "each evaluation so far"
    assert steps

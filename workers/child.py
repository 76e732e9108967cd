"""The process that trains: one run, then it is gone. The only module of the workers that imports torch."""

import errno
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from normcore.checkpoint import CorruptCheckpoint
from normcore.data.registry import DatasetError
from normcore.events import Advanced, Analysed, Event, Finished, Measured, Started, Stepped
from normcore.memory import keep_freed_memory
from normcore.run import run
from normcore.spec import parse
from normcore.spec.tasks import TrainedAnalysis
from service.artifacts import Artifacts
from service.errors import NotFound
from workers import bundle, training_log
from workers.checkpoints import Checkpoints, Past
from workers.messages import Failed, Job, Progress, RunFinished, RunStarted, Saved, Stopped, Stored, Troubled

PROGRESS_SECONDS = 0.25  # between two messages that say no more than how far we are
PASSING = {  # errors of the machine, which have nothing to do with what is trained
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EMFILE", "ENFILE", "ENODEV", "ENXIO", "ENOTCONN"),
        *("ETIMEDOUT", "ENETDOWN", "ENETUNREACH", "EHOSTDOWN", "EHOSTUNREACH", "ECONNREFUSED", "ECONNRESET"),
    )
}
log = logging.getLogger(__name__)


class Trouble(Exception):
    """Something that the training needs is away, and may come back."""


class Unstored:
    """Measurements that may not be in the database yet. The training adds to them, the worker's word removes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measured: list[Measured] = []

    def add(self, *measured: Measured) -> None:
        with self._lock:
            self._measured += measured

    def stored_up_to(self, step: int) -> None:
        with self._lock:
            self._measured = [m for m in self._measured if m.step > step]

    def now(self) -> tuple[Measured, ...]:
        with self._lock:
            return tuple(self._measured)


def work(job: Job, worker: Connection) -> None:
    """Train the run and tell the worker; stop with a checkpoint on SIGTERM, at once if the worker is gone."""
    os.setsid()
    keep_freed_memory()
    stop, unstored = threading.Event(), Unstored()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_listen, args=(worker, unstored), daemon=True).start()
    last = _run(job, worker, stop, unstored)
    training_log.keep(job.artifacts_url, job.run_id, job.attempt, job.log)
    worker.send(last)


def _run(
    job: Job, worker: Connection, stop: threading.Event, unstored: Unstored
) -> RunFinished | Analysed | Stopped | Troubled | Failed:
    try:
        training_log.write_to(job.log)
        return _Training(job, worker, stop, unstored).until_end()
    except (Trouble, DatasetError) as error:
        log.warning("%s", error)
        return Troubled(str(error))
    except Exception as error:
        log.exception("the training broke off")
        said = f"{type(error).__name__}: {error}"
        return Troubled(said) if isinstance(error, OSError) and error.errno in PASSING else Failed(said)


def _listen(worker: Connection, unstored: Unstored) -> None:
    """Hear what is stored; end with the worker."""
    try:
        while True:
            message = worker.recv()
            assert isinstance(message, Stored)
            unstored.stored_up_to(message.step)
    except (EOFError, OSError):
        os._exit(1)


class _Training:
    """One run from its checkpoint to its end."""

    def __init__(self, job: Job, worker: Connection, stop: threading.Event, unstored: Unstored) -> None:
        self._job, self._worker, self._stop, self._unstored = job, worker, stop, unstored
        with _store_is_needed():
            self._store = Artifacts(job.artifacts_url)
        past = Past(job.started_attempt, job.resumed_from)
        self._checkpoints = Checkpoints(self._store, job.run_id, job.attempt, past, job.checkpoint_seconds)
        self._has_measured = False
        self._told = 0.0  # when progress was last told
        self._untold: Progress | None = None

    def until_end(self) -> RunFinished | Analysed | Stopped:
        """Train, telling the worker what happens.

        Returns:
            How it ended.

        Raises:
            Trouble: the artifact store is away.
        """
        for event in self._resumed():
            end = self._take(event)
            if end is not None:
                return end
        raise AssertionError("unreachable: a run's last event ends it")

    def _take(self, event: Event) -> RunFinished | Analysed | Stopped | None:
        match event:
            case Stepped():
                return self._stepped(event)
            case Measured():
                self._measured(event)
            case Advanced(step, seconds):
                self._worker.send(Progress(step, seconds))
                return Stopped(None) if self._stop.is_set() else None
            case Analysed():
                log.info("analysed in %.1f s", event.seconds)
                return event
            case Finished(outcome, result):
                log.info("%s: test %s %s, selected at step %s", outcome, result.metric, result.value, result.step)
                with _store_is_needed():
                    self._store.write(self._job.run_id, self._job.attempt, "model.pt", event.model())
                return RunFinished(outcome, result)
        return None

    def _stepped(self, event: Stepped) -> Stopped | None:
        if self._stop.is_set() or self._checkpoints.is_due(measured=self._has_measured):
            self._write_checkpoint(event)
        if self._stop.is_set():
            log.info("stopped as asked")
            return Stopped(event.step)
        self._untold = Progress(event.step, event.seconds)
        if time.monotonic() - self._told >= PROGRESS_SECONDS:
            self._tell()
        return None

    def _measured(self, event: Measured) -> None:
        self._has_measured = True
        self._unstored.add(event)
        self._tell()
        self._worker.send(event)
        log.info("step %d  %s", event.step, "  ".join(f"{name} {value:.6g}" for name, value in event.values.items()))

    def _tell(self) -> None:
        if self._untold is not None:
            self._worker.send(self._untold)
            self._told, self._untold = time.monotonic(), None

    def _write_checkpoint(self, event: Stepped) -> None:
        content = bundle.pack(event.checkpoint(), self._unstored.now())
        with _store_is_needed():
            self._checkpoints.write(event.step, content)
        self._worker.send(Saved(event.step))
        log.info("checkpoint at step %d", event.step)
        training_log.keep(self._job.artifacts_url, self._job.run_id, self._job.attempt, self._job.log)

    def _resumed(self) -> Iterator[Event]:
        """The events of the training, from the newest checkpoint that is whole, or from the beginning."""
        notes: list[str] = []
        events, started, resumed_from, measured = self._first_event(notes)
        self._unstored.add(*measured)
        environment = json.dumps(dict(started.environment), indent=2, sort_keys=True)
        with _store_is_needed():
            self._store.write(self._job.run_id, self._job.attempt, "environment.json", environment.encode())
        log.info("attempt %d on %s from step %d on", self._job.attempt, self._job.device, started.step)
        self._worker.send(RunStarted(started, resumed_from, measured, tuple(notes)))
        yield from events

    def _first_event(self, notes: list[str]) -> tuple[Iterator[Event], Started, int | None, tuple[Measured, ...]]:
        with _store_is_needed():
            checkpoints = self._checkpoints.newest_first()
        while True:
            with _store_is_needed():
                name, content = next(checkpoints, (None, b""))
            if name is None:
                events = self._events(None)
                return events, _started(events), None, ()
            try:
                state, measured = bundle.unpack(content)
                events = self._events(state)
                started = _started(events)
            except (bundle.TornBundle, CorruptCheckpoint) as error:
                notes.append(f"checkpoint {name} cannot be used: {error}")
                log.warning("%s", notes[-1])
                continue
            return events, started, started.step, measured

    def _events(self, checkpoint: bytes | None) -> Generator[Event, None, None]:
        spec, trained = parse(self._job.spec), None
        if isinstance(spec.task, TrainedAnalysis):
            with _store_is_needed():
                if not self._store.list(spec.task.run):
                    raise FileNotFoundError(f"nothing of run {spec.task.run} is there")
                trained = self._store.read(spec.task.run, self._job.model_attempt, "model.pt")
        return run(  # type: ignore[return-value]
            spec,
            self._job.seed,
            device=self._job.device,
            datasets_dir=self._job.datasets_dir,
            threads=self._job.threads,
            checkpoint=checkpoint,
            trained=trained,
        )


def _started(events: Iterator[Event]) -> Started:
    started = next(events)
    assert isinstance(started, Started)
    return started


@contextmanager
def _store_is_needed() -> Iterator[None]:
    """Raises:
    Trouble: the artifact store did not do what the block asked of it; every file system has errors of its own.
    """
    try:
        yield
    except NotFound:
        raise
    except Exception as error:
        raise Trouble(f"artifact store: {type(error).__name__}: {error}") from error

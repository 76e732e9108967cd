"""One run in its training process: it goes from the newest usable checkpoint to its end, and sends messages to the
worker.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from normcore.data.registry import DatasetError
from normcore.events import Advanced, Analysed, Evaluating, Event, Finished, Measured, Probed, Started, Stepped
from normcore.own_code import present_code
from normcore.run import run
from normcore.spec import parse
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.training.checkpoint import CorruptCheckpoint
from service.artifacts import ENVIRONMENT, MODEL, Artifacts
from service.errors import NotFound
from service.experiments.analysis_model import OF_OLDER_CODE, is_of_older_code
from service.experiments.machines import Start
from workers import bundle, outputs, training_log
from workers.bundle import Bundle
from workers.checkpoints import Checkpoints, Past
from workers.loaded_code import LOADED
from workers.memory import ran_out
from workers.messages import Job, Progress, RunFinished, RunStarted, Saved, Stopped, name_files

PROGRESS_SECONDS = 0.25  # between two messages that only tell the step
log = logging.getLogger(__name__)


class Trouble(Exception):
    """Something that the training needs does not work at the moment, and may work again later."""


class CodeEdited(Exception):
    """Files were edited while the training started."""

    def __init__(self, files: tuple[str, ...]) -> None:
        super().__init__(f"edited while the training started: {name_files(files)}")
        self.files = files


class OlderCode(Exception):
    """A checkpoint was written by other code of the spec's own parts. The run would mix results of both."""


class OlderModel(Exception):
    """The code of the model that an analysis names was edited since the analysis was submitted."""


class UnstoredMeasurements:
    """Measurements that may not be in the database yet. The worker says when they are stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measured: list[Measured] = []

    def add(self, *measured: Measured) -> None:
        with self._lock:
            self._measured += measured

    def drop_stored(self, step: int) -> None:
        with self._lock:
            self._measured = [m for m in self._measured if m.step > step]

    def now(self) -> tuple[Measured, ...]:
        with self._lock:
            return tuple(self._measured)


class TrainingAttempt:
    """One attempt of a run, in its training process.

    Args:
        stop: when it is set, the training writes a checkpoint and ends.
    """

    def __init__(self, job: Job, worker: Connection, stop: threading.Event, unstored: UnstoredMeasurements) -> None:
        self._job, self._worker, self._stop, self._unstored = job, worker, stop, unstored
        with _store_is_needed():
            self._store = Artifacts(job.artifacts_url)
        past = Past(job.started_attempt, job.resumed_from)
        self._checkpoints = Checkpoints(self._store, job.run_id, job.attempt, past, job.checkpoint_seconds)
        self._begun: Start | None = None  # of a training, once it has started
        self._has_measured = False
        self._told = 0.0  # when progress was last told
        self._untold: Progress | None = None

    def until_end(self) -> RunFinished | Analysed | Stopped:
        """Train, and send messages to the worker.

        Returns:
            The message that says how the attempt ended.

        Raises:
            Trouble: the artifact store does not work.
        """
        for event in self._events():
            end = self._take(event)
            if end is not None:
                return end
        raise AssertionError("unreachable: a run's last event ends it")

    def _take(self, event: Event) -> RunFinished | Analysed | Stopped | None:
        match event:
            case Stepped():
                return self._handle_step(event)
            case Probed(seconds):
                self._begun = self._start_of_training.add_probe(seconds)
            case Evaluating(step, seconds, phase):
                self._worker.send(Progress(step, seconds, phase))
            case Measured():
                self._send_measured(event)
            case Advanced(step, seconds):
                self._worker.send(Progress(step, seconds))
                return Stopped(None) if self._stop.is_set() else None
            case Analysed():
                log.info("analysed in %.1f s", event.seconds)
                return event
            case Finished():
                return self._write_outputs(event)
        return None

    def _handle_step(self, event: Stepped) -> Stopped | None:
        if self._stop.is_set() or self._checkpoints.is_due(measured=self._has_measured):
            self._write_checkpoint(event)
        if self._stop.is_set():
            log.info("stopped as asked")
            return Stopped(event.step)
        self._untold = Progress(event.step, event.seconds)
        if time.monotonic() - self._told >= PROGRESS_SECONDS:
            self._tell()
        return None

    def _send_measured(self, event: Measured) -> None:
        self._has_measured = True
        self._unstored.add(event)
        self._tell()
        self._worker.send(event)
        log.info("step %d  %s", event.step, "  ".join(f"{name} {value:.6g}" for name, value in event.values.items()))

    def _tell(self) -> None:
        if self._untold is not None:
            self._worker.send(self._untold)
            self._told, self._untold = time.monotonic(), None

    def _write_outputs(self, event: Finished) -> RunFinished:
        result = event.result
        log.info("%s: test %s %s, selected at step %s", event.outcome, result.metric, result.value, result.step)
        if result.divergence is not None:
            log.warning("%s", result.divergence)
        for name, content_of in outputs.of(event):
            content = content_of() if name == MODEL else _make_artifact(name, content_of)
            if content is not None:
                self._write(name, content)
        return RunFinished(event.outcome, result, event.timing, self._start_of_training)

    @property
    def _start_of_training(self) -> Start:
        assert self._begun is not None
        return self._begun

    def _write_checkpoint(self, event: Stepped) -> None:
        content = bundle.pack(Bundle(event.checkpoint(), self._start_of_training, self._unstored.now()))
        with _store_is_needed():
            self._checkpoints.write(event.step, content)
        self._worker.send(Saved(event.step))
        log.info("checkpoint at step %d", event.step)
        training_log.keep(self._job.artifacts_url, self._job.run_id, self._job.attempt, self._job.log)

    def _write(self, name: str, content: bytes) -> None:
        with _store_is_needed():
            self._store.write(self._job.run_id, self._job.attempt, name, content)

    # -- how it starts -----------------------------------------------------------------------------

    def _events(self) -> Iterator[Event]:
        """Yield the events after ``Started``, from the newest usable checkpoint on, or from the beginning."""
        message, events = self._start()
        changed = LOADED.list_changed_files()  # since the process began; its digests may be of the edited files
        if changed:
            raise CodeEdited(changed)
        self._unstored.add(*message.measured)
        environment = json.dumps(dict(message.started.environment), indent=2, sort_keys=True)
        self._write(ENVIRONMENT, environment.encode())
        log.info("attempt %d on %s from step %d on", self._job.attempt, self._job.device, message.started.step)
        self._worker.send(message)
        yield from events

    def _start(self) -> tuple[RunStarted, Iterator[Event]]:
        notes: list[str] = []
        with _store_is_needed():
            checkpoints = self._checkpoints.newest_first()
        while True:
            with _store_is_needed():
                name, content = next(checkpoints, (None, b""))
            if name is None:
                notes += ["training starts again from the beginning"] if notes else []
                events = self._run(None)
                started = _first(events)
                self._begun = Start.of(started.environment)
                return RunStarted(started, None, (), tuple(notes)), events
            try:
                past = bundle.unpack(content)
                if past.start.code not in (None, present_code(parse(self._job.spec))):
                    raise OlderCode("it was written by older code")
                events = self._run(past.state)
                started = _first(events)
            except (Trouble, DatasetError, OSError):
                raise
            except Exception as error:  # it cannot be read, or this version of the code cannot restore its state
                if ran_out(error):
                    raise
                notes.append(f"checkpoint {name} cannot be used: {_reason(error)}")
                log.warning("%s", notes[-1])
                continue
            notes += [f"training resumes from an older checkpoint, at step {started.step}"] if notes else []
            self._begun = Start.of(started.environment).after(past.start)
            if self._begun.machine != past.start.machine:
                notes.append(f"training goes on on {self._begun.machine}, after {past.start.machine}")
            return RunStarted(started, started.step, tuple(past.measured), tuple(notes)), events

    def _run(self, checkpoint: bytes | None) -> Generator[Event, None, None]:
        spec, trained = parse(self._job.spec), None
        if isinstance(spec.task, TrainedAnalysis):
            model = self._job.model
            if model is not None and is_of_older_code(parse(model.spec), model.code):
                raise OlderModel(OF_OLDER_CODE)
            with _store_is_needed():
                if not self._store.list(spec.task.run):
                    raise FileNotFoundError(f"there are no files of run {spec.task.run}")
                trained = self._store.read(spec.task.run, model.attempt if model else 0, MODEL)
        return run(  # type: ignore[return-value]
            spec,
            self._job.seed,
            device=self._job.device,
            datasets_dir=self._job.datasets_dir,
            threads=self._job.threads,
            checkpoint=checkpoint,
            trained=trained,
        )


def _make_artifact(name: str, content_of: Callable[[], bytes]) -> bytes | None:
    """Make an artifact of the task. None if that fails: the log says why, and the run keeps its results."""
    try:
        return content_of()
    except Exception:
        log.warning("%s could not be made, and is missing among the run's files", name, exc_info=True)
        return None


def _first(events: Iterator[Event]) -> Started:
    started = next(events)
    assert isinstance(started, Started)
    return started


def _reason(error: Exception) -> str:
    """Text of an error. The name of its class stands in front, unless the error was raised with a text for people."""
    is_in_words = isinstance(error, (bundle.TornBundle, CorruptCheckpoint, OlderCode))
    return str(error) if is_in_words else f"{type(error).__name__}: {error}"


@contextmanager
def _store_is_needed() -> Iterator[None]:
    """Raise ``Trouble`` if the artifact store fails in the block; every file system has errors of its own."""
    try:
        yield
    except NotFound:
        raise
    except Exception as error:
        raise Trouble(f"artifact store: {type(error).__name__}: {error}") from error

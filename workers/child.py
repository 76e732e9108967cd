"""The process that trains: one run, then it is gone. The only module of the workers that imports torch."""

import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Generator, Iterator
from multiprocessing.connection import Connection

from normcore.checkpoint import CorruptCheckpoint
from normcore.events import Advanced, Analysed, Event, Finished, Measured, Started, Stepped
from normcore.memory import keep_freed_memory
from normcore.run import run
from normcore.spec import parse
from normcore.spec.tasks import TrainedAnalysis
from service.artifacts import Artifacts
from workers.checkpoints import Checkpoints
from workers.messages import Began, Ended, Failed, Job, Progress, Stopped

PROGRESS_SECONDS = 0.25  # between two messages that say no more than how far we are


def work(job: Job, worker: Connection) -> None:
    """Train the run and tell the worker; stop with a checkpoint on SIGTERM, at once if the worker is gone."""
    os.setsid()
    keep_freed_memory()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with, args=(worker,), daemon=True).start()
    try:
        _train(job, worker, stop)
    except Exception as error:
        traceback.print_exc()
        worker.send(Failed(f"{type(error).__name__}: {error}"))


def _die_with(worker: Connection) -> None:
    try:
        worker.recv()
    except (EOFError, OSError):
        os._exit(1)


def _train(job: Job, worker: Connection, stop: threading.Event) -> None:
    store = Artifacts(job.artifacts_url)
    checkpoints = Checkpoints(store, job.run_id, job.checkpoint_seconds)
    measured, told, untold = False, 0.0, None
    for event in _resumed(job, checkpoints, worker):
        match event:
            case Stepped(step, seconds):
                if stop.is_set() or checkpoints.is_due(measured=measured):
                    checkpoints.write(step, event.checkpoint())
                if stop.is_set():
                    worker.send(Stopped(step))
                    return
                untold = Progress(step, seconds)
                if time.monotonic() - told >= PROGRESS_SECONDS:
                    worker.send(untold)
                    told, untold = time.monotonic(), None
            case Measured():
                measured = True
                if untold is not None:
                    worker.send(untold)
                    untold = None
                worker.send(event)
            case Advanced(step, seconds):
                worker.send(Progress(step, seconds))
                if stop.is_set():
                    worker.send(Stopped(None))
                    return
            case Analysed():
                worker.send(event)
            case Finished(outcome, result):
                store.write(job.run_id, "model.pt", event.model())
                worker.send(Ended(outcome, result))


def _resumed(job: Job, checkpoints: Checkpoints, worker: Connection) -> Iterator[Event]:
    """The events of the training, from the newest checkpoint that is whole, or from the beginning."""
    notes = []
    for name, content in checkpoints.newest_first():
        try:
            events = _events(job, content)
            started = next(events)
        except CorruptCheckpoint as error:
            notes.append(f"{name} cannot be used: {error}")
            continue
        break
    else:
        events = _events(job, None)
        started = next(events)
        name = None
    assert isinstance(started, Started)
    environment = json.dumps(dict(started.environment), indent=2, sort_keys=True)
    Artifacts(job.artifacts_url).write(job.run_id, "environment.json", environment.encode())
    worker.send(Began(started, started.step if name else None, tuple(notes)))
    yield from events


def _events(job: Job, checkpoint: bytes | None) -> Generator[Event, None, None]:
    spec, store = parse(job.spec), Artifacts(job.artifacts_url)
    trained = store.read(spec.task.run, "model.pt") if isinstance(spec.task, TrainedAnalysis) else None
    return run(  # type: ignore[return-value]
        spec,
        job.seed,
        device=job.device,
        datasets_dir=job.datasets_dir,
        threads=job.threads,
        checkpoint=checkpoint,
        trained=trained,
    )

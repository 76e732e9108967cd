"""The scheduler and the workers beside the API of ``normbench up``."""

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from service.db import Database, one_line
from service.experiments import lifecycle
from service.fleet import registration
from service.ids import new_id
from service.queue import Notifier, make_celery
from service.scheduler import run_scheduler
from service.settings import Settings

log = logging.getLogger(__name__)

RESTART_SECONDS = (0.0, 0.0, 1.0, 5.0, 15.0)  # before the next worker, by how many in a row came to nothing
STABLE_SECONDS = 10.0  # a worker that was at work so long came to something, whatever it died of
SETTLED_SECONDS = 8.0  # after a worker's start, until a stand-by may warm up without getting in its way
STAND_BY_SECONDS = 15.0  # from one stand-by that died to the next
STOP_SECONDS = 40.0  # for workers to write their checkpoints; they enforce a shorter one themselves
STRAGGLERS_SECONDS = 5.0  # for a worker's own processes, once it has ended
NOTICE_SECONDS = 0.05  # until a process' end is seen
CANNOT_WORK = 2  # a worker's exit status


class Crew:
    """The scheduler and the workers beside an API. A worker that dies is replaced by a stand-by that is warm.

    Args:
        device: see ``service.local.up``.
        cannot_work: called when a worker refuses to work here from the very first.
    """

    def __init__(self, db: Database, settings: Settings, device: str | None, cannot_work: Callable[[], None]) -> None:
        self.refused = False
        self._db, self._settings, self._cannot_work = db, settings, cannot_work
        self._reserve = Reserve(settings, device)
        self._notifier = Notifier(make_celery(settings))
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, workers: int) -> None:
        scheduler = threading.Thread(
            target=run_scheduler, args=(self._db, self._settings, self._stop), name="scheduler"
        )
        keepers = [threading.Thread(target=self._keep_worker, name=f"worker-{k}") for k in range(workers)]
        self._threads = [scheduler, *keepers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all; runs in training are given back with a checkpoint."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._reserve.dismiss()
        self._notifier.close()

    def _keep_worker(self) -> None:
        """Keep one worker at work, then end it."""
        failures, first = 0, True
        while not self._stop.wait(RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]):
            try:
                worker = self._reserve.call_up()
            except OSError as error:  # of processes, files or memory
                log.warning("no worker can be started: %s", error)
                failures += 1
                continue
            began = time.monotonic()
            self._watch(worker)
            if self._stop.is_set():
                worker.end()
                return
            status = worker.process.returncode
            log.warning("worker %s ended with status %s", worker.id, status)
            if first and status == CANNOT_WORK:
                self.refused = True
                self._cannot_work()
                return
            was_killed_at_work = self._take_back_from(worker.id) and status < 0
            failures = 0 if was_killed_at_work or time.monotonic() - began > STABLE_SECONDS else failures + 1
            first = False

    def _watch(self, worker: "Worker") -> None:
        """Wait until the worker ends or all is to stop; once it has settled, see that another one stands by."""
        while not worker.has_ended and not self._stop.wait(NOTICE_SECONDS):
            if worker.age > SETTLED_SECONDS:
                self._reserve.fill()

    def _take_back_from(self, worker_id: str) -> bool:
        """Queue what a worker held at once: that it is gone needs no lease to run out.

        Returns:
            Whether the worker had come as far as its first heartbeat.
        """
        try:
            with self._db.transaction() as session:
                was_here = registration.remove(session, worker_id)
                notifications = lifecycle.take_back_from(session, worker_id, max_attempts=self._settings.max_attempts)
        except SQLAlchemyError as error:
            log.warning("what worker %s held waits for the end of its lease: %s", worker_id, one_line(error))
            return False
        self._notifier.notify(notifications)
        return was_here


class Reserve:
    """At most one worker that has imported everything and waits to be called up: most of a worker's start is torch's
    import, and training would wait for it.
    """

    def __init__(self, settings: Settings, device: str | None) -> None:
        self._settings, self._device = settings, device
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._fill_from = -math.inf

    def fill(self) -> None:
        """Have a worker stand by, if none does. Nothing depends on it: what prevents it is tried again later."""
        with self._lock:
            if (self._worker is None or self._worker.has_ended) and time.monotonic() >= self._fill_from:
                self._fill_from = time.monotonic() + STAND_BY_SECONDS
                try:
                    self._worker = self._start()
                except OSError as error:
                    log.warning("no worker stands by: %s", error)

    def call_up(self) -> "Worker":
        """The worker that stands by, or else a new one, told to begin.

        Raises:
            OSError: no process can be started.
        """
        with self._lock:
            worker, self._worker, self._fill_from = self._worker, None, -math.inf
            if worker is None or worker.has_ended:
                worker = self._start()
        worker.begin()
        return worker

    def dismiss(self) -> None:
        """End the worker that stands by."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _start(self) -> "Worker":
        """A process of a session of its own, so that Ctrl-C does not reach it."""
        worker_id = new_id("wrk")
        environment = {**os.environ, **_as_environment(self._settings)}
        command = [sys.executable, "-P", "-m", "workers", "--id", worker_id, "--follow-stdin"]
        command += ["--device", self._device] if self._device else []
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, bufsize=0, start_new_session=True)
        return Worker(worker_id, process, time.monotonic())


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker's process. It follows its standard input: a byte lets it begin, and it ends with the pipe."""

    id: str
    process: subprocess.Popen[bytes]
    started: float

    @property
    def age(self) -> float:
        """Seconds since its process was started, its time as a stand-by included."""
        return time.monotonic() - self.started

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def begin(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended meanwhile, which its keeper sees
            self.process.stdin.write(b"\n")

    def end(self) -> None:
        """End it and wait for what it started, which ends with it a moment later."""
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        deadline = time.monotonic() + STRAGGLERS_SECONDS
        with suppress(ProcessLookupError):  # the group is gone
            while time.monotonic() < deadline:
                os.killpg(self.process.pid, 0)
                time.sleep(NOTICE_SECONDS)
            os.killpg(self.process.pid, signal.SIGKILL)


def _as_environment(settings: Settings) -> dict[str, str]:
    return {f"NORMBENCH_{name.upper()}": str(value) for name, value in settings.model_dump().items()}

"""``normbench up``: API, scheduler and workers on one machine, with no server beside them."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from service.db import Database, one_line
from service.experiments import lifecycle
from service.fleet import attendance
from service.ids import new_id
from service.queue import Doorbell, make_celery
from service.scheduler import run_scheduler
from service.serve import make_server, run_until_told
from service.settings import Settings
from service.startup import StartupError, exit_on_signals, keys_needed, listen, prepare, sole_use

log = logging.getLogger(__name__)

RESTART_SECONDS = (0.0, 0.0, 1.0, 5.0, 15.0)  # before the next worker, by how many in a row died soon
STABLE_SECONDS = 10.0  # a worker that lived so long did not die soon
STOP_SECONDS = 40.0  # for workers to write their checkpoints; they enforce a shorter one themselves
STRAGGLERS_SECONDS = 5.0  # for a worker's own processes, once it has ended
NOTICE_SECONDS = 0.05  # until a process' end is seen
CANNOT_WORK = 2  # a worker's exit status


def up(settings: Settings, host: str, port: int, workers: int, device: str | None, ready: Callable[[], None]) -> None:
    """Run everything until SIGTERM or SIGINT.

    Args:
        workers: runs that train at the same time; each keeps one core busy.
        device: ``cpu``, ``cuda:0``, …; None lets each worker choose.
        ready: called once the address is ours.

    Raises:
        StartupError: the data directory is in use, no worker can work here, or see ``service.startup``.
    """
    exit_on_signals()
    db = prepare(settings)
    with sole_use(settings.data_dir):
        require_keys = keys_needed(db, host)
        listening = listen(host, port)
        server = make_server(settings, require_keys=require_keys)
        ready()
        crew = Crew(db, settings, device, cannot_work=lambda: setattr(server, "should_exit", True))
        crew.start(workers)
        try:
            run_until_told(server, listening)
        finally:
            crew.stop()
            db.close()
    if crew.refused:
        raise StartupError("no worker can work here; it says why above")


class Crew:
    """The scheduler and the workers beside an API; workers that die are replaced.

    Args:
        cannot_work: called when a worker refuses to work here from the very first.
    """

    def __init__(self, db: Database, settings: Settings, device: str | None, cannot_work: Callable[[], None]) -> None:
        self.refused = False
        self._db, self._settings, self._device, self._cannot_work = db, settings, device, cannot_work
        self._doorbell = Doorbell(make_celery(settings))
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
            thread.join()
        self._doorbell.close()

    def _keep_worker(self) -> None:
        """Keep one worker process alive, then end it."""
        failures, first = 0, True
        while not self._stop.wait(RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]):
            worker_id, began = new_id("wrk"), time.monotonic()
            process = self._start_worker(worker_id)
            while process.poll() is None and not self._stop.wait(NOTICE_SECONDS):
                pass
            if self._stop.is_set():
                _end(process)
                return
            log.warning("worker %s ended with status %s", worker_id, process.returncode)
            if first and process.returncode == CANNOT_WORK:
                self.refused = True
                self._cannot_work()
                return
            self._take_back_from(worker_id)
            failures = 0 if time.monotonic() - began > STABLE_SECONDS else failures + 1
            first = False

    def _take_back_from(self, worker_id: str) -> None:
        """Queue what a worker held at once: that it is gone needs no lease to run out."""
        try:
            with self._db.transaction() as session:
                attendance.leave(session, worker_id)
                bells = lifecycle.take_back_from(session, worker_id, max_attempts=self._settings.max_attempts)
        except SQLAlchemyError as error:
            log.warning("what worker %s held waits for the end of its lease: %s", worker_id, one_line(error))
            return
        self._doorbell.ring(bells)

    def _start_worker(self, worker_id: str) -> subprocess.Popen[bytes]:
        """A worker that we alone stop: Ctrl-C does not reach it, and it ends with its standard input, a pipe of
        ours."""
        environment = {**os.environ, **_as_environment(self._settings)}
        command = [sys.executable, "-P", "-m", "workers", "--id", worker_id, "--until-stdin-closes"]
        command += ["--device", self._device] if self._device else []
        return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)


def _as_environment(settings: Settings) -> dict[str, str]:
    return {f"NORMBENCH_{name.upper()}": str(value) for name, value in settings.model_dump().items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a worker and wait for what it started, which ends with it a moment later."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + STRAGGLERS_SECONDS
    with suppress(ProcessLookupError):  # the group is gone
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(NOTICE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)

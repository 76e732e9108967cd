"""Stand-by: a worker that has imported everything and replaces a worker that dies. Most of a worker's start is the
import of torch, for which training would have to wait.
"""

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from service.ids import new_id
from service.settings import Settings

log = logging.getLogger(__name__)

STAND_BY_SECONDS = 15.0  # at least, between two starts of a stand-by
STOP_SECONDS = 40.0  # for workers to write their checkpoints; they enforce a shorter time themselves
STRAGGLERS_SECONDS = 5.0  # for the processes of a worker, once the worker has ended
NOTICE_SECONDS = 0.05  # between two looks at whether a process has ended


class StandBy:
    """Keeps at most one worker as a stand-by."""

    def __init__(self, settings: Settings, device: str | None) -> None:
        self._settings, self._device = settings, device
        self._lock = threading.Lock()
        self._worker: WorkerProcess | None = None
        self._fill_from = -math.inf

    def fill(self) -> None:
        """Start a stand-by worker if there is none. If the start fails, a later call tries again."""
        with self._lock:
            if (self._worker is None or self._worker.has_ended) and time.monotonic() >= self._fill_from:
                self._fill_from = time.monotonic() + STAND_BY_SECONDS
                try:
                    self._worker = self._start()
                except OSError as error:
                    log.warning("no worker stands by: %s", error)

    def take(self) -> "WorkerProcess":
        """Take the stand-by worker, or start a new worker if there is none, and tell this worker to begin.

        Raises:
            OSError: no process can be started.
        """
        with self._lock:
            worker, self._worker, self._fill_from = self._worker, None, -math.inf
            if worker is None or worker.has_ended:
                worker = self._start()
        worker.begin()
        return worker

    def stop(self) -> None:
        """End the stand-by worker."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _start(self) -> "WorkerProcess":
        """Start the worker in a session of its own, so that Ctrl-C does not reach it."""
        worker_id = new_id("wrk")
        environment = {**os.environ, **_as_environment(self._settings)}
        command = [sys.executable, "-P", "-m", "workers", "--id", worker_id, "--follow-stdin"]
        command += ["--device", self._device] if self._device else []
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, bufsize=0, start_new_session=True)
        return WorkerProcess(worker_id, process, time.monotonic())


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """Process of a worker. It begins when a byte arrives on its standard input, and ends when its standard input
    closes.
    """

    id: str
    process: subprocess.Popen[bytes]
    started: float

    @property
    def age(self) -> float:
        """Seconds since the process was started, including its time as a stand-by."""
        return time.monotonic() - self.started

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def begin(self) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended meanwhile, which the supervisor will see
            self.process.stdin.write(b"\n")

    def end(self) -> None:
        """End the process, and wait for the processes that it started, which end a moment later."""
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

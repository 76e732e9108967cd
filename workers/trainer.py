"""A training process seen from its worker.

Processes come from a fork server that has imported torch and never used it: a run starts in milliseconds, in
a process group of its own, and no process that has touched CUDA is ever forked.
"""

import multiprocessing
import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection

from service.startup import StartupError
from workers.messages import Job, Message, Stored

WARM = (  # imported once, by the fork server; each takes seconds
    "workers.trainer",
    "workers.child",
    "torch._inductor",  # which torch loads to be deterministic
    "sklearn.datasets",  # home of the digits
)
context = multiprocessing.get_context("forkserver")


def start_warming_up() -> None:
    """Start the fork server; it takes seconds to import what training needs."""
    context.set_forkserver_preload(list(WARM))
    forkserver.ensure_running()


def wait_until_warm(device: str) -> None:
    """Wait for the fork server's first process; a run claimed before that could outlast its lease unstarted.

    Raises:
        StartupError: nothing can be trained on this device.
    """
    first = context.Process(target=_look_for, args=(device,), daemon=True)
    first.start()
    first.join()
    if first.exitcode != 0:
        raise StartupError(f"cannot train on {device} here; name another with --device")


def _look_for(device: str) -> None:
    """Runs in the first process; torch must not touch the device in any that is forked."""
    from normcore.environment import usable_device

    try:
        usable_device(device)
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))


def _work(job: Job, worker: Connection) -> None:
    """Runs in the training process; imports there what the worker must not."""
    from workers.child import work

    work(job, worker)


class Trainer:
    """One training process. Its messages are taken in as they come, however long their reader is busy."""

    def __init__(self, job: Job) -> None:
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(job, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._take_in, name="trainer", daemon=True).start()
        self._gone = False

    def next(self, timeout: float) -> Message | None:
        """The next message, or None if there is none by then or the process is gone."""
        if self._gone:
            return None
        try:
            message = self._messages.get(timeout=timeout)
        except queue.Empty:
            return None
        self._gone = message is None
        return message

    def tell(self, message: Stored) -> None:
        """Say what is stored; a process that is gone need not know."""
        with suppress(OSError):
            self._connection.send(message)

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended and all its messages were read."""
        return self._gone

    def stop(self) -> None:
        """Ask it to write a checkpoint and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and all it started, now."""
        self._signal(signal.SIGKILL)

    def close(self) -> str:
        """Wait for the end and give its cause in words."""
        self._process.join()
        self._connection.close()
        code = self._process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"

    def _take_in(self) -> None:
        try:
            while True:
                self._messages.put(self._connection.recv())
        except (EOFError, OSError):
            self._messages.put(None)

    def _signal(self, number: signal.Signals) -> None:
        """To its process group, or before it has one, to itself."""
        assert self._process.pid is not None
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            if self._process.is_alive():
                os.kill(self._process.pid, number)

"""Work in a process of its own, forked from the fork server because it takes torch, which ends with its worker."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from workers import fork_server

END_SECONDS = 3.0  # for the process to end what it started, before SIGKILL


class Aside:
    """A process that works aside, as its worker sees it."""

    def __init__(self, process: BaseProcess, connection: Connection) -> None:
        self._process, self._connection = process, connection

    def told(self, seconds: float | None = None) -> Any:
        """The next thing that it tells.

        Raises:
            TimeoutError: it told nothing within these seconds.
            ChildProcessError: it has ended without telling more.
        """
        try:
            if not self._connection.poll(seconds):
                raise TimeoutError
            return self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join(END_SECONDS)
            raise ChildProcessError(f"ended with {self._process.exitcode}") from None


@contextmanager
def working(work: Callable[..., None], *arguments: Any) -> Iterator[Aside]:
    """Start ``work(connection, *arguments)`` in a process of its own; at the end it is ended with all that it started,
    also if its worker is told to stop meanwhile.

    Raises:
        OSError, EOFError: no process can be started, for want of memory, files or processes.
    """
    ours, theirs = fork_server.context.Pipe()
    process = fork_server.context.Process(target=_work, args=(theirs, work, arguments), daemon=True)
    try:
        process.start()
        theirs.close()
        yield Aside(process, ours)
    finally:
        ours.close()  # which tells it to end
        if process.pid is not None:
            process.join(END_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join(END_SECONDS)


def _work(worker: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(worker,), daemon=True).start()
    with suppress(ConnectionError):  # the worker is gone
        work(worker, *arguments)


def _end_with(worker: Connection) -> None:
    """End this process, and all in its session, once the worker is gone or wants no more of it."""
    with suppress(EOFError, OSError):
        worker.recv()
    os.killpg(0, signal.SIGTERM)  # who compiles ends its compilers, which have sessions of their own
    time.sleep(END_SECONDS)
    os.killpg(0, signal.SIGKILL)

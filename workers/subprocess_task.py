"""Work in a separate process, which ends when its worker ends. The process is forked from the fork server, because the
work needs torch.
"""

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

END_SECONDS = 3.0  # for the process to end its own processes, before SIGKILL


class SubprocessTask:
    """Separate process that does some work, as its worker sees it."""

    def __init__(self, process: BaseProcess, connection: Connection) -> None:
        self._process, self._connection = process, connection

    def receive(self, seconds: float | None = None) -> Any:
        """Wait for the next message from the process.

        Raises:
            TimeoutError: no message came within ``seconds``.
            ChildProcessError: the process has ended without another message.
        """
        try:
            if not self._connection.poll(seconds):
                raise TimeoutError
            return self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join(END_SECONDS)
            raise ChildProcessError(f"ended with {self._process.exitcode}") from None


@contextmanager
def run_in_process(work: Callable[..., None], *arguments: Any) -> Iterator[SubprocessTask]:
    """Run ``work(connection, *arguments)`` in a separate process during the block. When the block ends, this process
    and all that it started are ended, even if the worker is told to stop meanwhile.

    Raises:
        OSError, EOFError: no process can be started, because memory, files or processes ran out.
    """
    ours, theirs = fork_server.context.Pipe()
    process = fork_server.context.Process(target=_work, args=(theirs, work, arguments), daemon=True)
    try:
        process.start()
        theirs.close()
        yield SubprocessTask(process, ours)
    finally:
        ours.close()  # tells the process to end
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
    """End this process and all of its session, once the worker is gone or no longer needs the process."""
    with suppress(EOFError, OSError):
        worker.recv()
    os.killpg(0, signal.SIGTERM)  # a process that compiles ends its compilers, which have own sessions
    time.sleep(END_SECONDS)
    os.killpg(0, signal.SIGKILL)

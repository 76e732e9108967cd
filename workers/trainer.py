"""Handle by which a worker follows and stops a training process. The process leads a process group of its own."""

import os
import queue
import signal
import threading
from contextlib import suppress

from workers import fork_server
from workers.messages import Job, Message, Stored


class Trainer:
    """One training process. A thread receives its messages, so that the process never waits for a busy worker."""

    def __init__(self, job: Job) -> None:
        self._connection, theirs = fork_server.context.Pipe()
        self._process = fork_server.context.Process(target=fork_server.work, args=(job, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._take_in, name="trainer", daemon=True).start()
        self._gone = False

    def next(self, timeout: float) -> Message | None:
        """Wait for the next message. None if no message comes within ``timeout`` seconds, or the process is gone."""
        if self._gone:
            return None
        try:
            message = self._messages.get(timeout=timeout)
        except queue.Empty:
            return None
        self._gone = message is None
        return message

    def tell(self, message: Stored) -> None:
        """Tell the process what is stored, unless it is gone."""
        with suppress(OSError):
            self._connection.send(message)

    @property
    def pid(self) -> int:
        """Id of the process."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def is_gone(self) -> bool:
        """Tell if the process has ended and all its messages were read."""
        return self._gone

    def stop(self) -> None:
        """Ask the process to write a checkpoint and end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and all processes that it started."""
        self._signal(signal.SIGKILL)

    def close(self) -> str:
        """Wait for the process to end, and say why it ended."""
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
        """Send a signal to the process group, or to the process alone before it has a group. If the process has ended,
        do nothing.
        """
        assert self._process.pid is not None
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            with suppress(ProcessLookupError):  # it may end now: the fork server reaps a process before it says so
                if self._process.is_alive():
                    os.kill(self._process.pid, number)

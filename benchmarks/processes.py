"""Start a server, wait until it answers, and end it with all processes that it started."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent  # of the repository: this checkout is measured
PATIENCE = 120.0  # seconds in which a server must answer; MLflow creates its tables first
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.05


@contextmanager
def running(
    command: Sequence[str], log: Path, *, is_ready: Callable[[], bool], environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run ``command`` in its own session while the block runs.

    Args:
        log: file to which the output of the command is added.
        environment: variables of the process, added to ours. Ours that begin with ``NORMBENCH_`` are not passed on.

    Raises:
        RuntimeError: the process ended or was not ready in time. Every error of the block has the end of the log as
            a note.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NORMBENCH_")}
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**inherited, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until(lambda: process.poll() is not None or is_ready())
        if process.poll() is not None:
            raise RuntimeError(f"the process ended with status {process.returncode}: {' '.join(command)}")
        yield
    except Exception as error:
        error.add_note(f"{log.name} of {' '.join(command)} ends:\n{log.read_text()[-2000:]}")
        raise
    finally:
        end_session(process)


def python_path(source: Path) -> str:
    """Value of ``PYTHONPATH`` with which a process runs the code of ``source``, before any other."""
    return os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))


def free_port() -> int:
    """Port of 127.0.0.1 on which no process listens at present."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Tell if a process accepts connections on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE, *, every: float = LOOK_SECONDS) -> None:
    """Wait until ``is_so`` returns True.

    Args:
        every: seconds between two calls of ``is_so``.

    Raises:
        RuntimeError: ``is_so`` did not return True in time.
    """
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"gave up waiting after {seconds:g} s")
        time.sleep(every)


def end_session(process: subprocess.Popen[bytes], seconds: float = STOP_SECONDS) -> None:
    """Terminate the process, then kill its whole session."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

"""Start a server, wait until it answers, and end it with everything it started."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent  # of the repository: what is measured is this checkout
PATIENCE = 120.0  # seconds until a server must answer; MLflow creates its tables first
STOP_SECONDS = 30.0
LOOK_SECONDS = 0.05


@contextmanager
def running(
    command: Sequence[str], log: Path, *, is_ready: Callable[[], bool], environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run ``command`` in a session of its own while the block runs.

    Args:
        environment: variables over our own; none of ours that begin with ``NORMBENCH_`` is passed on.

    Raises:
        RuntimeError: it ended or was not ready in time. An error that leaves the block carries the end of the log.
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
            raise RuntimeError(f"ended with status {process.returncode}: {' '.join(command)}")
        yield
    except Exception as error:
        error.add_note(f"{log.name} of {' '.join(command)} ends:\n{log.read_text()[-2000:]}")
        raise
    finally:
        _end(process)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on just now."""
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
    """Raises:
    RuntimeError: it was not so in time.
    """
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {seconds:g} s in vain")
        time.sleep(every)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, then make sure of the whole session."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

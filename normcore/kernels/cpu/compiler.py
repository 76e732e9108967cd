"""Run the compiler within a time limit, in a separate session, so that all of its children can be ended with it."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

COMPILER = "g++"
VERSION_SECONDS = 10.0  # time limit for asking the compiler's version
END_SECONDS = 1.0  # time between SIGTERM and SIGKILL
LOOK_SECONDS = 0.1  # time between two checks whether the compiler may still run
_stopped = threading.Event()


class BuildFailed(RuntimeError):
    """The kernels could not be compiled; the message says why."""


class Limit:
    """Time limit for several compiler calls together."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._until = seconds, time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._until - time.monotonic())


def stop() -> None:
    """End the compilers that this process started, and start no others. In separate sessions, they would outlive the
    process."""
    _stopped.set()


def version() -> str:
    """Return the version of the compiler.

    Raises:
        BuildFailed: the compiler does not report a version.
    """
    told = _ask_version()
    if isinstance(told, BuildFailed):
        raise BuildFailed(str(told))
    return told


@cache
def _ask_version() -> str | BuildFailed:
    """Return the version that the compiler reports, or the error if it reports none. The process asks only once."""
    try:
        return output([COMPILER, "-dumpfullversion"], Limit(VERSION_SECONDS)).strip()
    except BuildFailed as error:
        return error


def output(command: Sequence[str], limit: Limit) -> str:
    """Run a compiler and return what it printed. The compiler leads a session of its own, so that all of its children
    can be ended with it.

    Raises:
        BuildFailed: the compiler is not installed, cannot be started, failed, or did not end within the limit.
    """
    if _stopped.is_set():
        raise BuildFailed(f"{COMPILER} was not started: this process has stopped compiling")
    try:
        compiler = subprocess.Popen(
            command,
            env={**os.environ, "LC_ALL": "C"},  # error messages are searched for English words
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise BuildFailed(f"there is no {COMPILER}; install it (Debian: apt install g++)") from error
    except OSError as error:
        raise BuildFailed(f"{COMPILER} cannot be started: {error.strerror}") from error
    with compiler:
        try:
            out, err = _await_compiler(compiler, limit)
        except BaseException:
            _end(compiler)
            raise
    if compiler.returncode != 0:
        raise BuildFailed(f"{COMPILER} ended with {compiler.returncode}: {_reason(err)}")
    return out


def _await_compiler(compiler: "subprocess.Popen[str]", limit: Limit) -> tuple[str, str]:
    """Wait for the compiler; return its output and its errors.

    Raises:
        BuildFailed: the compiler takes too long, or ``stop`` was called.
    """
    while limit.left and not _stopped.is_set():
        with suppress(subprocess.TimeoutExpired):
            return compiler.communicate(timeout=min(limit.left, LOOK_SECONDS))
    raise BuildFailed(f"{COMPILER} did not end within {limit.seconds:.0f} s")


def _end(compiler: "subprocess.Popen[str]") -> None:
    """End the compiler and all of its children. SIGTERM comes first, so that the compiler can remove unfinished
    files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(compiler.pid, number)
        with suppress(subprocess.TimeoutExpired):
            compiler.wait(END_SECONDS)


def _reason(complaints: str) -> str:
    """Find the line of the compiler's messages that says what is wrong. For an error in a header, this is not the first
    line; the linker's last line only says that there is an error."""
    lines = complaints.strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "error: " in line and not line.startswith("collect2: ")), lines[0])

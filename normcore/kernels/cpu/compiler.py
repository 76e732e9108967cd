"""Run the compiler: within a limit, in a session of its own, so that it ends with all that it starts."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

COMPILER = "g++"
VERSION_SECONDS = 10.0  # by which it has told its version
END_SECONDS = 1.0  # for a compiler that is told to end, before SIGKILL
LOOK_SECONDS = 0.1  # between two looks at whether it still may run
_stopped = threading.Event()


class BuildFailed(RuntimeError):
    """The kernels could not be compiled, and why."""


class Limit:
    """Time limit for several compiler calls together."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._until = seconds, time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._until - time.monotonic())


def stop() -> None:
    """End the compilers of this process and start no other: being in sessions of their own, they outlive it."""
    _stopped.set()


def version() -> str:
    """The compiler's.

    Raises:
        BuildFailed: it does not say.
    """
    told = _told_version()
    if isinstance(told, BuildFailed):
        raise BuildFailed(str(told))
    return told


@cache
def _told_version() -> str | BuildFailed:
    """Version that the compiler reports, or the reason why it reports none. The process asks only once."""
    try:
        return output([COMPILER, "-dumpfullversion"], Limit(VERSION_SECONDS)).strip()
    except BuildFailed as error:
        return error


def output(command: Sequence[str], limit: Limit) -> str:
    """Run a compiler and return what it printed. The compiler leads a session of its own, so that all of its children
    can be ended with it.

    Raises:
        BuildFailed: it is not there, cannot be started, failed, or did not end.
    """
    if _stopped.is_set():
        raise BuildFailed(f"{COMPILER} was to be stopped")
    try:
        compiler = subprocess.Popen(
            command,
            env={**os.environ, "LC_ALL": "C"},  # its errors are looked for in English
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
            out, err = _awaited(compiler, limit)
        except BaseException:
            _end(compiler)
            raise
    if compiler.returncode != 0:
        raise BuildFailed(f"{COMPILER} ended with {compiler.returncode}: {_reason(err)}")
    return out


def _awaited(compiler: "subprocess.Popen[str]", limit: Limit) -> tuple[str, str]:
    """Wait for the compiler; return its output and its errors.

    Raises:
        BuildFailed: it takes too long, or is to be stopped.
    """
    while limit.left and not _stopped.is_set():
        with suppress(subprocess.TimeoutExpired):
            return compiler.communicate(timeout=min(limit.left, LOOK_SECONDS))
    raise BuildFailed(f"{COMPILER} did not end within {limit.seconds:.0f} s")


def _end(compiler: "subprocess.Popen[str]") -> None:
    """End it and all that it has started; where it heeds SIGTERM, it first removes what it has begun."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(compiler.pid, number)
        with suppress(subprocess.TimeoutExpired):
            compiler.wait(END_SECONDS)


def _reason(complaints: str) -> str:
    """The line that says what is wrong: of an error in a header that is not the first, and the linker's last word
    only says that there is one."""
    lines = complaints.strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "error: " in line and not line.startswith("collect2: ")), lines[0])

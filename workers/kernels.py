"""The fused kernels of a worker's device, compiled before it claims its first run, once on a machine.

That happens in a process of its own, forked from the fork server, because it takes torch to know the processor. It
ends its compilers when it is told to end, and if its worker is gone.
"""

import logging
import os
import shutil
import signal
import threading
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from normcore.spec.kernels import TRITON
from workers import warm

log = logging.getLogger(__name__)

COMPILING = "compiling"
END_SECONDS = 3.0  # for the process to end its compilers, before SIGKILL


def prepare(device: str) -> str | None:
    """Have the kernels that runs on this device will need, and say in the log if that takes the compiler.

    Returns:
        Why there are none, so that the reference runs; None if there are.
    """
    if device != "cpu":
        missing = _missing_triton()
        if missing is not None:
            log.info("no fused kernels here; experiments that ask for them are left to other workers: %s", missing)
        return missing
    try:
        missing = _compiled()
    except (OSError, EOFError) as error:  # of processes, files or memory
        missing = f"no process to compile them can be started: {type(error).__name__}: {error}"
    if missing is not None:
        log.warning("no fused kernels here, so recurrent networks run by the reference, more slowly: %s", missing)
    return missing


def _missing_triton() -> str | None:
    try:
        installed = version("triton")
    except PackageNotFoundError:
        return "there is no triton; install normbench[gpu]"
    if not installed.startswith(tuple(f"{minor}." for minor in TRITON)):
        return f"triton {installed} is installed, which does not compile all; install normbench[gpu]"
    return _missing_c_compiler()


def _missing_c_compiler() -> str | None:
    """Triton looks for one where it starts its first kernel, and takes what CC names as it stands."""
    named = os.environ.get("CC")
    if any(map(shutil.which, ["gcc", "clang"] if named is None else [named])):
        return None
    missing = "there is no C compiler, which triton needs" if named is None else f"CC is {named!r}, which is no command"
    return f"{missing}; install one (Debian: apt install gcc)"


def _compiled() -> str | None:
    ours, theirs = warm.context.Pipe()
    process = warm.context.Process(target=_compile, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        return _told_by(process, ours)
    finally:  # also if this worker is told to stop meanwhile
        _end(process)
        ours.close()


def _told_by(process: BaseProcess, connection: Connection) -> str | None:
    try:
        told: str | None = connection.recv()
        if told == COMPILING:
            log.info("compiling kernels for this processor, once on this machine; it takes some seconds")
            told = connection.recv()
    except (EOFError, ConnectionError):
        process.join(END_SECONDS)
        return f"the process that compiles them ended with {process.exitcode}"
    process.join(END_SECONDS)
    return told


def _end(process: BaseProcess) -> None:
    """End the process with its compilers, if it has not ended."""
    for end in (process.terminate, process.kill):
        if process.is_alive():
            end()
            process.join(END_SECONDS)


def _compile(worker: Connection) -> None:
    """Runs in a process of its own."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(worker,), daemon=True).start()
    from normcore.kernels.cpu.compiler import stop
    from normcore.kernels.cpu.load import KernelsMissing
    from normcore.kernels.cpu.load import prepare as prepare_all

    signal.signal(signal.SIGTERM, lambda *_: stop())
    with suppress(ConnectionError):  # the worker is gone
        try:
            prepare_all(lambda: worker.send(COMPILING))
            worker.send(None)
        except KernelsMissing as error:
            worker.send(str(error))


def _end_with(worker: Connection) -> None:
    """End this process with its compilers once the worker is gone."""
    with suppress(EOFError, OSError):
        worker.recv()
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.kill(os.getpid(), number)
        time.sleep(END_SECONDS)

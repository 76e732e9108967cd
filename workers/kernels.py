"""The fused kernels of a worker's device, compiled or tried before it claims its first run, once on a machine.

That happens in a process of its own, forked from the fork server, because it takes torch to know the processor or the
device. It ends its compilers when it is told to end, and if its worker is gone.
"""

import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, NamedTuple

from normcore.spec.kernels import FUSED_PAIRS, TRITON
from workers import warm

if TYPE_CHECKING:
    from normcore.kernels.trials import Verdict

log = logging.getLogger(__name__)

COMPILING = "compiling"
TRIAL_SECONDS = 600.0  # of a cell and a method, in which a trial ends that ends at all; it compiles eight kernels
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
        else:
            try_all(device)
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


class Trying(NamedTuple):
    """A process has begun to try a cell with a method."""

    cell: str
    method: str


Trial = Callable[[Trying, str], "Verdict"]


def try_all(device: str, trial: Trial | None = None, trial_seconds: float = TRIAL_SECONDS) -> None:
    """Have every cell and method tried on the device that its kind has not been tried with, and log what was found.

    A process that dies of a trial, or hangs, has found that the kernels do not work; the next one goes on.

    Args:
        trial: what is done in the process; that of ``normcore.kernels.gpu.trial`` by default.
        trial_seconds: in which a trial ends that ends at all.
    """
    broken: tuple[Trying, str] | None = None
    while True:
        ours, theirs = warm.context.Pipe()
        process = warm.context.Process(target=_try, args=(theirs, device, broken, trial or _trial), daemon=True)
        try:
            process.start()
            theirs.close()
            broken = _follow(process, ours, trial_seconds)
        except (OSError, EOFError) as error:  # of processes, files or memory
            log.warning("fused kernels cannot be tried here: %s: %s", type(error).__name__, error)
            return
        finally:  # also if this worker is told to stop meanwhile
            if process.pid is not None:
                _end(process)
            ours.close()
        if broken is None:
            return


def _follow(process: BaseProcess, connection: Connection, trial_seconds: float) -> tuple[Trying, str] | None:
    """Log what the process tells; the trial at which it broke, and how, or None if it came to its end.

    Raises:
        OSError: it ended before it tried anything, or could not keep what it found.
    """
    trying: Trying | None = None
    try:
        while connection.poll(trial_seconds):
            told = connection.recv()
            if told is None:
                process.join(END_SECONDS)
                return None
            if isinstance(told, Trying):
                if trying is None:
                    log.info("trying fused kernels on this device, once on this machine; it takes some minutes")
                trying = told
            elif isinstance(told, OSError):
                raise told
            else:
                log.info("fused kernels on this device: %s", told)
        how = f"its trial did not end within {trial_seconds:.0f} s"
    except (EOFError, ConnectionError):
        process.join(END_SECONDS)
        how = f"the process that tried it ended with {process.exitcode}"
    if trying is None:
        raise OSError(how)
    return trying, how


def _try(worker: Connection, device_name: str, broken: tuple[Trying, str] | None, trial: Trial) -> None:
    """Runs in a process of its own."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(worker,), daemon=True).start()
    from normcore.environment import usable_device
    from normcore.kernels import trials

    device = usable_device(device_name)
    with suppress(ConnectionError):  # the worker is gone
        try:
            if broken is not None:
                trials.keep(device, broken[0], trials.Verdict(broken[1], None))
            for pair in FUSED_PAIRS:
                if pair not in trials.verdicts(device):
                    trying = Trying(*pair)
                    worker.send(trying)
                    trials.keep(device, trying, trial(trying, device_name))
            worker.send(trials.summary(device))
        except OSError as error:  # of the cache directory
            worker.send(error)
        worker.send(None)


def _trial(trying: Trying, device_name: str) -> "Verdict":
    from normcore.environment import usable_device
    from normcore.kernels import gpu
    from normcore.kernels.gpu.trial import try_out

    return try_out(*trying, usable_device(device_name), gpu.unroll)


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

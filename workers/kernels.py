"""Fused kernels of a worker's device. They are compiled or tried once on a machine, before the worker claims its first
run.
"""

import argparse
import json
import logging
import os
import shutil
import signal
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path

from normcore.spec.kernels import TRITON
from workers.gpu_check import try_all
from workers.subprocess_task import run_in_process

log = logging.getLogger(__name__)

COMPILING = "compiling"


def prepare(device: str) -> str | None:
    """Prepare the fused kernels for a device: compile them for the CPU, or try them on a GPU. The log says so if this
    takes the compiler.

    Returns:
        Reason why this worker cannot take runs that ask for fused kernels by name; None if it can.
    """
    if device != "cpu":
        missing = find_missing_requirement() or try_all(device)
        if missing is not None:
            log.info("experiments that ask for fused kernels are left to other workers: %s", missing)
        return missing
    try:
        missing = _compile_in_process()
    except (OSError, EOFError) as error:  # processes, files or memory ran out
        missing = f"no process to compile them can be started: {type(error).__name__}: {error}"
    if missing is not None:
        log.warning("no fused kernels here, so recurrent networks run by the reference, more slowly: %s", missing)
    return missing


def find_missing_requirement() -> str | None:
    """Missing requirement of the fused kernels on GPUs (triton, a C compiler or Python's headers), with how to install
    it. None if all are there.
    """
    try:
        installed = version("triton")
    except PackageNotFoundError:
        return "there is no triton; install normbench[gpu]"
    if not installed.startswith(tuple(f"{minor}." for minor in TRITON)):
        return f"triton {installed} is installed, which does not compile all; install normbench[gpu]"
    return _missing_c_compiler() or _missing_headers()


def _missing_c_compiler() -> str | None:
    """Message that there is no C compiler; None if there is one. Triton looks for a compiler when it starts its first
    kernel, and uses the command in ``CC`` unchanged.
    """
    named = os.environ.get("CC")
    if any(map(shutil.which, ["gcc", "clang"] if named is None else [named])):
        return None
    missing = "there is no C compiler, which triton needs" if named is None else f"CC is {named!r}, which is no command"
    return f"{missing}; install one (Debian: apt install gcc)"


def _missing_headers() -> str | None:
    """Message that Python's headers are missing; None if they are there. Triton compiles its launchers against them."""
    header = Path(sysconfig.get_path("include"), "Python.h")
    return None if header.exists() else f"there is no {header}; install it (Debian: apt install python3-dev)"


def _compile_in_process() -> str | None:
    with run_in_process(_compile) as task:
        try:
            told: str | None = task.receive()
            if told == COMPILING:
                log.info("compiling kernels for this processor, once on this machine; it takes some seconds")
                told = task.receive()
        except ChildProcessError as error:
            return f"the process that compiles them {error}"
    return told


def _compile(worker: Connection) -> None:
    """Compile the kernels, in a process of its own."""
    from normcore.kernels.cpu.compiler import stop
    from normcore.kernels.cpu.load import KernelsMissing
    from normcore.kernels.cpu.load import prepare as prepare_all

    signal.signal(signal.SIGTERM, lambda *_: stop())
    try:
        prepare_all(lambda: worker.send(COMPILING))
        worker.send(None)
    except KernelsMissing as error:
        worker.send(str(error))


def main() -> int:
    """Prepare the kernels of a device, as ``normbench kernels`` does.

    Returns:
        0 if all can be used; 1 if some are missing; 2 if there is no such device.
    """
    import torch

    from normcore.environment import usable_device

    parser = argparse.ArgumentParser(prog="normbench kernels")
    parser.add_argument("--device", help="cpu, cuda or cuda:N; a GPU if there is one, else the CPU")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("workers").setLevel(logging.INFO)
    try:
        device = str(usable_device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")))
    except (RuntimeError, ValueError) as error:
        print(f"normbench kernels: {error}", file=sys.stderr)
        return 2
    missing = prepare(device)
    if arguments.json:
        print(json.dumps({"device": device, "missing": missing}))
    elif missing is None:
        print(f"the fused kernels are ready on {device}")
    else:
        print(f"normbench kernels: not all can be used on {device}: {missing}", file=sys.stderr)
    return int(missing is not None)


if __name__ == "__main__":
    sys.exit(main())

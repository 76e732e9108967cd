"""Checks of kernels that end well, badly or never. Each check's process imports this module, so it imports little."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normcore.kernels.gpu.verdicts import KernelVerdict

Pair = tuple[str, str]
DEAD, HANGS, RAISES, WRONG = ("lstm", "layer_norm"), ("gru", "none"), ("rnn", "none"), ("rnn", "rms_norm")


def of_all_kinds(pair: Pair, device: str) -> "KernelVerdict":
    """Check of kernels that are right, except one that kills its process, one that never ends, one that raises, and a
    wrong one.
    """
    if pair == DEAD:
        os.kill(os.getpid(), signal.SIGSEGV)
    if pair == HANGS:
        signal.pause()
    if pair == RAISES:
        raise RuntimeError("CUDA out of memory")
    from normcore.kernels.gpu.verdicts import KernelVerdict

    return KernelVerdict("y is off", None) if pair == WRONG else right(pair, device)


def none_works(pair: Pair, device: str) -> "KernelVerdict":
    raise subprocess.CalledProcessError(1, "gcc")


def right(pair: Pair, device: str) -> "KernelVerdict":
    from normcore.kernels.gpu.verdicts import KernelVerdict

    return KernelVerdict(None, 2.0)


def never(pair: Pair, device: str) -> "KernelVerdict":
    raise AssertionError(pair)


def counted(pair: Pair, device: str) -> "KernelVerdict":
    """Check that takes a while and writes a line."""
    with Path(os.environ["XDG_CACHE_HOME"], "calls").open("a") as calls:
        calls.write(f"{' '.join(pair)}\n")
    time.sleep(0.2)
    return right(pair, device)


def compiles_for_ever(pair: Pair, device: str) -> "KernelVerdict":
    compiler = subprocess.Popen(["sleep", "600"])
    Path(os.environ["XDG_CACHE_HOME"], "compiler").write_text(str(compiler.pid))
    compiler.wait()
    return right(pair, device)

"""The compiled kernels of this machine, loaded.

An object that was built beforehand comes first, then what the user's cache directory has; else it is compiled.
"""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import torch

from normcore.kernels.cpu.build import CELLS, PORTABLE, PREBUILT, BuildFailed, Variant, built, place_of
from normcore.kernels.cpu.recurrence import Recurrence

CAPABILITIES = {"AVX512": "x86-64-v4", "AVX2": "x86-64-v3"}
PRECISIONS = (torch.float32, torch.float64)
_forgone: str | None = None  # why this process does without


class KernelsMissing(RuntimeError):
    """There are no compiled kernels here, and why."""


def instruction_set() -> str:
    """The best that this processor has; ``ATEN_CPU_CAPABILITY`` holds it down, as it does torch."""
    return CAPABILITIES.get(torch.backends.cpu.get_cpu_capability(), PORTABLE)


def load(cell: str, dtype: torch.dtype = torch.float32) -> ctypes.CDLL:
    """The kernels of a cell, its class's name.

    Raises:
        KernelsMissing: they can neither be found nor built; in this process that is not tried again.
    """
    if _forgone is not None:
        raise KernelsMissing(_forgone)
    found = _found(Variant(cell, dtype == torch.float64, instruction_set()))
    if isinstance(found, str):
        raise KernelsMissing(found)
    return found


def built_by(cell: str) -> str:
    """What the float32 kernels of a cell were compiled for, and by what compiler: ``x86-64-v4, g++ 12.2.0``.

    Raises:
        KernelsMissing: they can neither be found nor built.
    """
    told: bytes = load(cell).normbench_built()
    return told.decode()


def forgo(reason: str) -> None:
    """Do without kernels in this process, where somebody has tried in vain to build them: no run waits for that."""
    global _forgone
    _forgone = reason


def prepare(compiling: Callable[[], None] = lambda: None) -> None:
    """Have the float32 kernels of all cells ready, so that no run waits for the compiler.

    Args:
        compiling: called first if any has to be compiled.

    Raises:
        KernelsMissing: they can neither be found nor built.
    """
    if any(_has_to_be_compiled(Variant(cell, False, instruction_set())) for cell in CELLS):
        compiling()
    with ThreadPoolExecutor(min(len(CELLS), os.cpu_count() or 1)) as pool:
        list(pool.map(load, CELLS))


def _has_to_be_compiled(variant: Variant) -> bool:
    try:
        return not ((PREBUILT / variant.file_name).exists() or place_of(variant).exists())
    except BuildFailed:
        return False  # as there is nothing to compile it with


@cache
def _found(variant: Variant) -> ctypes.CDLL | str:
    """The object, or why there is none."""
    beforehand = PREBUILT / variant.file_name
    try:
        return _loaded(beforehand if beforehand.exists() else built(variant))
    except (BuildFailed, OSError) as error:
        return str(error)


def _loaded(path: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(path))
    for run in (loaded.normbench_forward, loaded.normbench_backward):
        run.argtypes, run.restype = [ctypes.POINTER(Recurrence)], ctypes.c_char_p
    for size in (loaded.normbench_stride, loaded.normbench_padded):
        size.argtypes, size.restype = [ctypes.c_int64], ctypes.c_int64
    loaded.normbench_built.argtypes, loaded.normbench_built.restype = [], ctypes.c_char_p
    return loaded

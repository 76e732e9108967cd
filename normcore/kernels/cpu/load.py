"""Load the compiled kernels of this machine.

An object that was built in advance comes first, then an object in the user's cache directory. If there is neither, the
object is compiled.
"""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from normcore.kernels.cpu.build import CELLS, COMPILE_SECONDS, PORTABLE, PREBUILT, Variant, build_if_missing, place_of
from normcore.kernels.cpu.compiler import BuildFailed, Limit
from normcore.kernels.cpu.recurrence import Recurrence

CAPABILITIES = {"AVX512": "x86-64-v4", "AVX2": "x86-64-v3"}
PRECISIONS = (torch.float32, torch.float64)
_forgone: str | None = None  # why this process does not use kernels
_tried: dict[Variant, ctypes.CDLL | str] = {}  # the object, or why there is none


class KernelsMissing(RuntimeError):
    """Error: this machine has no compiled kernels; the message says why."""


def instruction_set() -> str:
    """Return the best instruction set of this processor. ``ATEN_CPU_CAPABILITY`` limits it, as it limits torch."""
    return CAPABILITIES.get(torch.backends.cpu.get_cpu_capability(), PORTABLE)


def load(cell: str, dtype: torch.dtype = torch.float32, limit: Limit | None = None) -> ctypes.CDLL:
    """Load the kernels of a cell, compiled if necessary.

    Args:
        cell: name of the cell's class.
        limit: time limit of the compiler; by default this call has its own.

    Raises:
        KernelsMissing: the kernels can neither be found nor built. This process does not try again.
    """
    if _forgone is not None:
        raise KernelsMissing(_forgone)
    variant = Variant(cell, dtype == torch.float64, instruction_set())
    if variant not in _tried:
        _tried[variant] = _find_or_build(variant, limit)
    found = _tried[variant]
    if isinstance(found, str):
        raise KernelsMissing(found)
    return found


def describe_build(cell: str) -> str:
    """Return the instruction set and compiler of a cell's float32 kernels: ``x86-64-v4, g++ 12.2.0``.

    Raises:
        KernelsMissing: the kernels can neither be found nor built.
    """
    told: bytes = load(cell).normbench_built()
    return told.decode()


def forgo(reason: str) -> None:
    """Use no kernels in this process, because another process could not build them: a run must not wait for another
    try."""
    global _forgone
    _forgone = reason


def prepare(compiling: Callable[[], None] = lambda: None) -> None:
    """Load or compile the float32 kernels of all cells, so that no run waits for the compiler.

    Args:
        compiling: function that is called first if kernels must be compiled.

    Raises:
        KernelsMissing: the kernels can neither be found nor built.
    """
    if any(_has_to_be_compiled(Variant(cell, False, instruction_set())) for cell in CELLS):
        compiling()
    limit = Limit(COMPILE_SECONDS)
    with ThreadPoolExecutor(min(len(CELLS), os.cpu_count() or 1)) as pool:
        list(pool.map(lambda cell: load(cell, limit=limit), CELLS))


def _has_to_be_compiled(variant: Variant) -> bool:
    try:
        return not (os.path.exists(PREBUILT / variant.file_name) or os.path.exists(place_of(variant)))
    except (BuildFailed, OSError):
        return False  # there is no compiler for it


def _find_or_build(variant: Variant, limit: Limit | None) -> ctypes.CDLL | str:
    """Find or build the object of a variant; return the object, or the reason why there is none."""
    try:
        beforehand = PREBUILT / variant.file_name
        return _load_object(beforehand) if os.path.exists(beforehand) else _load_or_build(variant, limit)
    except (BuildFailed, OSError) as error:
        return str(error)


def _load_or_build(variant: Variant, limit: Limit | None) -> ctypes.CDLL:
    """Load the object of a variant from the user's cache directory, and build it if it is not there. A broken object,
    as left by a failing disk, is built again.

    Raises:
        BuildFailed, OSError: the object cannot be built, or cannot be loaded.
    """
    was_there = os.path.exists(place_of(variant))
    path = build_if_missing(variant, limit=limit)
    try:
        return _load_object(path)
    except OSError:
        if not was_there:
            raise
        path.unlink(missing_ok=True)
        return _load_object(build_if_missing(variant, limit=limit))


def _load_object(path: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(path))
    for run in (loaded.normbench_forward, loaded.normbench_backward):
        run.argtypes, run.restype = [ctypes.POINTER(Recurrence)], ctypes.c_char_p
    for size in (loaded.normbench_stride, loaded.normbench_padded):
        size.argtypes, size.restype = [ctypes.c_int64], ctypes.c_int64
    loaded.normbench_built.argtypes, loaded.normbench_built.restype = [], ctypes.c_char_p
    return loaded

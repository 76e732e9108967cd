"""Code of the reference that the fused kernels compute, as it was when they were compared with it.

A fused kernel is a second program for the equations of a cell and a method. An edit of the first program changes
nothing in the second. So each module that the kernels follow has a digest in ``reference_code.json``. If a module has
another digest now, its cell or method runs by the reference, and the edit has its effect.

After an edit that the kernels follow as well, ``python -m tools.reference_code`` writes the present digests.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from normcore.source_files import digest_of, source_of_module
from normcore.spec.cells import CELLS
from normcore.spec.kernels import FUSED_CELLS, FUSED_METHODS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

COMMON = (
    "normcore.cells.cell",
    "normcore.norms.normalization",
    "normcore.recurrent.unroll",
)
"""Modules that every kernel follows."""
BATCH_NORM = (
    "normcore.norms.batch_norm",
    "normcore.norms.batch_statistics",
    "normcore.norms.sequence_batch_norm",
    "normcore.norms.step_average",
)
OF_METHODS = {"recurrent_batch_norm": BATCH_NORM, "sequence_batch_norm": BATCH_NORM}
"""Modules besides a method's own that its kernels follow, by the method's tag."""
DIGESTS = Path(__file__).with_name("reference_code.json")


def find_edited_module(cell: type[RecurrentModel], method: type[Method]) -> str | None:
    """Find a module of a cell's or a method's reference whose code is not what the fused kernels compute. None if there
    is no such module."""
    recorded = _read_recorded_digests()
    for module in (CELLS.module_of(cell), *modules_of(method), *COMMON):
        if module in recorded and _digest(module) not in (None, recorded[module]):
            return module
    return None


@cache
def _read_recorded_digests() -> dict[str, str]:
    found: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found


def _digest(module: str) -> str | None:
    """Compute the digest of a module's code; None if its source is not there."""
    sources = source_of_module(module)
    return digest_of(sources[0].path, sources[0].state) if sources else None


def _modules() -> Iterator[str]:
    yield from (CELLS.module_of(cell) for cell in FUSED_CELLS)
    for method in FUSED_METHODS:
        yield from modules_of(method)
    yield from COMMON


def modules_of(method: type[Method]) -> tuple[str, ...]:
    """Name the modules of a method that its kernels follow, besides ``COMMON``."""
    return METHODS.module_of(method), *OF_METHODS.get(METHODS.tag_of(method), ())


def present() -> dict[str, str | None]:
    """Compute the digest of each module that the kernels follow."""
    return {module: _digest(module) for module in sorted(set(_modules()))}

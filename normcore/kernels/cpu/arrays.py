"""Arrays of a pass that are not its results: those that forward keeps for backward, and the norms' moments.

Each kind lies in one tensor, one array after the other.

Shapes: T steps, B examples, H hidden units, G gates.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from normcore.kernels.cell_layout import NormKind
from normcore.kernels.cpu.load import load
from normcore.kernels.cpu.recurrence import Recurrence

SITES = ("input", "recurrent", "cell")
KEPT_INPUTS = 60  # with this many features or more, W_x x is saved for backward: computing it again would take longer
MEASURED_ANEW = 8  # with fewer examples, batch norms' statistics are not saved: they are as large as for more examples
CACHE_LINE = 64  # bytes; the kernels expect that each kept array begins with a cache line


class Sizes(NamedTuple):
    """All that the sizes of a pass's arrays follow from."""

    cell: str
    dtype: torch.dtype
    kind: int
    together: bool
    normalized: tuple[bool, ...]
    measured: tuple[bool, ...]
    has_c: bool
    steps: int
    batch: int
    inputs: int
    hidden: int
    gates: int


class Arrays(NamedTuple):
    """Arrays that lie one after the other in a tensor.

    Attributes:
        fields: for each array, the site of its field in the structure, empty for none, the field, and the number of
            bytes before the array.
        size: how many numbers the tensor has.
    """

    fields: tuple[tuple[str, str, int], ...]
    size: int

    @classmethod
    def of(cls, sizes: Iterable[tuple[str, str, int]], dtype: torch.dtype, line: int) -> "Arrays":
        """Lay out arrays, each from the beginning of a line of ``line`` bytes on.

        Args:
            sizes: for each array the site, the field, and how many numbers it has.
        """
        each, fields, end = line // dtype.itemsize, [], 0
        for site, field, size in sizes:
            begin = -(-end // each) * each
            fields.append((site, field, begin * dtype.itemsize))
            end = begin + size
        return cls(tuple(fields), end)

    def point(self, structure: Recurrence, tensor: Tensor) -> None:
        """Point the structure's fields at the arrays in ``tensor``."""
        first = tensor.data_ptr()
        for site, field, begin in self.fields:
            setattr(getattr(structure, site) if site else structure, field, first + begin)


def lay_out(of: Sizes) -> tuple[Arrays, Arrays]:
    """Lay out the arrays that forward fills for backward, and the moments (2, T, G H) or (2, T, H) of the norms."""
    widths = (of.gates * of.hidden, of.gates * of.hidden, of.hidden)
    moments = [
        (site, "moments", 2 * of.steps * width)
        for site, measured, width in zip(SITES, of.measured, widths, strict=True)
        if measured
    ]
    return Arrays.of(_kept(of), of.dtype, CACHE_LINE), Arrays.of(moments, of.dtype, of.dtype.itemsize)


lay_out_once = lru_cache(maxsize=64)(lay_out)


def _kept(of: Sizes) -> Iterator[tuple[str, str, int]]:
    """List the arrays that forward fills for backward: the site, the field, and how many numbers."""
    kernels = load(of.cell, of.dtype)
    stride, padded = kernels.normbench_stride(int(of.hidden)), kernels.normbench_padded(int(of.hidden))
    over_examples = of.kind == NormKind.BATCH_NORM
    keeps_sums = of.cell != "RNN"  # an RNN's outputs serve instead: as many numbers as its sums
    if keeps_sums:
        yield "", "kept_recurrent", of.steps * of.batch * stride
    if keeps_sums and of.inputs >= KEPT_INPUTS and not of.together:
        yield "", "kept_input", of.steps * of.batch * stride
    if of.has_c:
        yield "", "kept_c", of.steps * of.batch * padded
    if over_examples and not of.has_c and of.batch < MEASURED_ANEW:
        yield "", "longest_h", of.steps
        return
    lines = padded if over_examples else of.batch
    for site, normalized in zip(SITES, of.normalized, strict=True):
        if normalized:
            yield site, "statistics", of.steps * lines * 2 * (1 if site == "cell" else of.gates)

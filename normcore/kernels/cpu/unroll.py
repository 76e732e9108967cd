"""Unroll a cell over a sequence with the compiled kernels, with the same results as ``normcore.recurrent.unroll``.

Shapes: T steps, B examples, F inputs, H hidden units, G gates.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from normcore import recurrent
from normcore.cells import Cell
from normcore.kernels.cell_layout import CellLayout
from normcore.kernels.cpu.load import PRECISIONS
from normcore.kernels.cpu.operator import Choices, in_writing, recurrence
from normcore.norms.sequence_batch_norm import SequenceBatchNormAtSite
from normcore.recurrent.unroll import S, UnrolledCell


def unroll(cell: Cell[S], x: Tensor, state: S, t: int = 0, mask: Tensor | None = None) -> UnrolledCell:
    """Unroll a cell with the arguments and results of ``normcore.recurrent.unroll``. The computation is in float32,
    under autocast, too.

    The gradient can be taken only once, and only in reverse mode: tangents of forward mode are lost. Cases without a
    kernel run by the reference: other devices, gradients through population statistics, cells in which only some norms
    use the minibatch's statistics, and modules that are not normcore's own.

    Raises:
        KernelFailed: there is not enough memory.
        KernelsMissing: there are no compiled kernels on this machine.
        ValueError: there is only one example for the minibatch's statistics, as in the reference.
    """
    layout = CellLayout.of_pass(cell, x, state, mask) if x.device.type == "cpu" else None
    if layout is None:
        return recurrent.unroll(cell, x, state, t, mask)
    unrolled = _unroll(cell, layout, x, state, t, mask)
    if torch.compiler.is_compiling() or all(map(_is_finite, unrolled.moments.values())):
        return unrolled
    with torch.no_grad():  # float32 cannot hold some variances
        return unrolled._replace(moments=recurrent.unroll(cell, x, state, t, mask).moments)


def _unroll(cell: Any, layout: CellLayout, x: Tensor, state: Any, t: int, mask: Tensor | None) -> UnrolledCell:
    dtype = cell.weight_hh.dtype if cell.weight_hh.dtype in PRECISIONS else torch.float32
    parameters = [part for site in layout.sites for part in (site.gain, site.shift)]
    weight_ih, of_input = cell.weight_ih, None
    if layout.over_all_steps is not None:
        weight_ih, parameters[1], of_input = _fold_norm(layout.over_all_steps, weight_ih, x.to(dtype), mask)
    given = (x, state.h, getattr(state, "c", None), weight_ih, cell.weight_hh, *layout.biases, *parameters)
    tensors = [tensor if tensor is None or tensor.dtype == dtype else tensor.to(dtype) for tensor in given]
    population = [None if known is None else known[k].to(dtype) for known in layout.population() for k in (0, 1)]
    y, h, c, measured, _ = recurrence(
        *tensors,
        None if mask is None else mask.to(torch.uint8),
        *population,
        t,
        [site.eps for site in layout.sites],
        in_writing(Choices.of(layout)),
        keeps=False,  # the operator's gradient sets it
    )
    moments = dict(_split_moments(layout, measured, len(x))) if measured.numel() else {}
    if of_input is not None:
        moments["norm_x"] = of_input
    return UnrolledCell(y, type(state)(*((h,) if tensors[2] is None else (h, c))), moments)


def _is_finite(moments: Tensor) -> bool:
    """Tell if all moments are finite. A finite sum says so in a single pass over memory."""
    return bool(moments.sum().isfinite() or moments.isfinite().all())


def _split_moments(layout: CellLayout, measured: Tensor, steps: int) -> Iterator[tuple[str, Tensor]]:
    """Split the moments of all batch norms into those of each, (2, T, G H) or (2, T, H)."""
    sites: list[Any] = [site for site in layout.sites if site.wants_moments]
    widths = [site.norm.weight.shape[0] for site in sites]
    parts = measured.split_with_sizes([2 * steps * width for width in widths])
    for site, width, part in zip(sites, widths, parts, strict=True):
        yield site.name, part.view(2, steps, width)


def _fold_norm(
    norm: SequenceBatchNormAtSite, weight_ih: Tensor, x: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Compute W (G H, F) and s (G H) such that norm(W_x x) = W x + s at every step, and the moments of W_x x."""
    norm.moments()  # drop the moments that an interrupted pass left there
    with torch.autocast("cpu", enabled=False):
        a = functional.linear(x, weight_ih.to(x.dtype)) if norm.takes_batch else None
        mean, scale = norm.standardization(a, mask)  # (1, G H)
        return scale.mT * weight_ih, -(mean * scale).squeeze(0), norm.moments()

"""Unroll a cell over a sequence with Triton kernels, with the same results as ``normcore.recurrent.unroll``.

Shapes: T steps, B examples, F inputs, H hidden units, G gates.
"""

from typing import Any, cast

import torch
import triton
from torch import Tensor

from normcore import recurrent
from normcore.cells import Cell, State
from normcore.cells.gru import GRU
from normcore.cells.rnn import RNN
from normcore.kernels.cell_layout import CellLayout, NormKind, SiteLayout
from normcore.kernels.gpu.operator import term_recurrence
from normcore.kernels.gpu.plan import OVER_FEATURES
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.recurrent_batch_norm import BatchNormAtSite
from normcore.recurrent.unroll import S, UnrolledCell

INTERPRETED = bool(triton.knobs.runtime.interpret)  # Triton decides at its import, too


def unroll(cell: Cell[S], x: Tensor, state: S, t: int = 0, mask: Tensor | None = None) -> UnrolledCell:
    """Unroll a cell with the arguments and results of ``normcore.recurrent.unroll``.

    The computation is in the precision of the weights. Under autocast only the factors of products, W_h and the
    states, are rounded; the products are added up in float32.

    The cell's own code computes the input's term for all steps at once; the kernels compute the rest, step by step. The
    gradient can be taken only once. Cases without a kernel run by the reference: other devices, gradients through
    population statistics, and cells in which only some norms use the minibatch's statistics.

    Raises:
        ValueError: there is only one example for the minibatch's statistics, as in the reference.
    """
    layout = CellLayout.of_pass(cell, x, state, mask) if _runs_on(x.device) else None
    if layout is None:
        return recurrent.unroll(cell, x, state, t, mask)
    return _unroll_cell(cast(Any, cell), layout, x, state, t, mask)


def _runs_on(device: torch.device) -> bool:
    return device.type == "cuda" or INTERPRETED


def _unroll_cell(cell: Any, layout: CellLayout, x: Tensor, state: State, t: int, mask: Tensor | None) -> UnrolledCell:
    dtype = cell.weight_hh.dtype
    input_norm = layout.over_all_steps or layout.sites[0].norm
    if isinstance(input_norm, BatchStatistics):
        input_norm.moments()  # drop the moments that an interrupted pass left there
    term = cell.input_term(x.to(dtype), t, mask).to(dtype)  # (T, B, G H)
    _, sums, of_cell = layout.sites
    first = [part.to(dtype) for part in state]
    tensors = (
        term,
        first[0],
        first[1] if len(first) > 1 else None,
        cell.weight_hh,
        sums.gain,
        _shift(cell, layout),
        of_cell.gain,
        of_cell.shift,
    )
    h, c, states, _, _, *statistics = term_recurrence(
        *tensors,
        None if mask is None else mask.to(torch.uint8),
        _population(layout, sums, layout.gates, cell.weight_hh, t, len(x)),
        _population(layout, of_cell, 1, cell.weight_hh, t, len(x)),
        layout.gates,
        [int(layout.kind if site.norm is not None else NormKind.NONE) for site in (sums, of_cell)],
        [sums.eps, of_cell.eps],
        together=layout.cell is not GRU and (sums.norm is None or sums.name == "norm_sum"),
        joint=layout.kind in OVER_FEATURES and not layout.per_gate,
        carries_normalized=layout.carries_normalized,
        factors=_of_factors(cell.weight_hh),
        keeps=False,  # the operator's gradient sets it
    )
    end = (h,) if len(first) == 1 else (h, c)
    moments = {
        site.name: _moments(measured)
        for site, measured in zip((sums, of_cell), statistics, strict=True)
        if site.wants_moments
    }
    seen = input_norm.moments() if isinstance(input_norm, BatchStatistics) else None
    if seen is not None:
        moments["norm_x"] = seen
    return UnrolledCell(states[1:], type(state)(*end), moments)


def _of_factors(weight: Tensor) -> torch.dtype:
    """Return the precision in which W_h is multiplied: autocast's precision if it is on, else the weight's own."""
    if weight.dtype == torch.float32 and torch.is_autocast_enabled(weight.device.type):
        return torch.get_autocast_dtype(weight.device.type)
    return weight.dtype


def _population(layout: CellLayout, site: SiteLayout, gates: int, like: Tensor, t: int, steps: int) -> Tensor | None:
    """Return the population's means and factors (T, 2, G, H) at a site; None if they are not used."""
    if layout.kind is not NormKind.POPULATION or not isinstance(site.norm, BatchNormAtSite):
        return None
    return torch.stack(site.norm.standardization(t, steps), 1).to(like.dtype).view(steps, 2, gates, -1)


def _shift(cell: Any, layout: CellLayout) -> Tensor | None:
    """Return the shift that follows the norm of the recurrent term: the norm's own shift, plus the term's own bias,
    plus the cell's bias if the input's term does not contain it.
    """
    sums = layout.sites[1]
    bias_comes_last = layout.cell is RNN or sums.name == "norm_sum"
    bias: Tensor | None = cell.bias if bias_comes_last and cell.bias_place != "inside" else None
    first, *others = [part for part in (sums.shift, bias, cell.bias_hh) if part is not None] or [None]
    return sum(others, first)


def _moments(statistics: Tensor) -> Tensor:
    """Return the means and variances (2, T, G H) of the statistics (T, 3, G, H) that a batch norm measured."""
    return statistics[:, [0, 2]].transpose(0, 1).flatten(2)

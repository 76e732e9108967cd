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
from normcore.kernels.gpu.plan import OVER_FEATURES, Plan, SitePlan
from normcore.kernels.gpu.recurrence import Recurrence
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.recurrent_batch_norm import BatchNormAtSite
from normcore.recurrent.unroll import S, UnrolledCell


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
    with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
        return _unroll_cell(cast(Any, cell), layout, x, state, t, mask)


def _runs_on(device: torch.device) -> bool:
    return device.type == "cuda" or triton.knobs.runtime.interpret


def _memory_of_a_block() -> int:
    """Return the bytes of shared memory that a block may use on the current device; the interpreter counts as an
    H100."""
    if triton.knobs.runtime.interpret:
        return 227 * 1024
    active = triton.runtime.driver.active
    memory: int = active.utils.get_device_properties(active.get_current_device())["max_shared_mem"]
    return memory


def _unroll_cell(cell: Any, layout: CellLayout, x: Tensor, state: State, t: int, mask: Tensor | None) -> UnrolledCell:
    dtype = cell.weight_hh.dtype
    input_norm = layout.over_all_steps or layout.sites[0].norm
    if isinstance(input_norm, BatchStatistics):
        input_norm.moments()  # drop the moments that an interrupted pass left there
    term = cell.input_term(x.to(dtype), t, mask).to(dtype)  # (T, B, G H)
    _, sums, of_cell = layout.sites
    plan = _plan(cell, layout, t, mask, len(x))
    first = [part.to(dtype) for part in state]
    parameters = (sums.gain, _shift(cell, sums), of_cell.gain, of_cell.shift)
    with torch.autocast(x.device.type, enabled=False):
        y, h, c = Recurrence.apply(  # type: ignore[no-untyped-call]
            plan, term.contiguous(), first[0], first[1] if len(first) > 1 else None, cell.weight_hh, *parameters
        )
    end = (h,) if c is None else (h, c)
    moments = {
        site.name: _moments(at_site)
        for site, at_site in ((sums, plan.sums), (of_cell, plan.cell))
        if site.wants_moments
    }
    seen = input_norm.moments() if isinstance(input_norm, BatchStatistics) else None
    if seen is not None:
        moments["norm_x"] = seen
    return UnrolledCell(y, type(state)(*end), moments)


def _plan(cell: Any, layout: CellLayout, t: int, mask: Tensor | None, steps: int) -> Plan:
    _, sums, of_cell = layout.sites
    return Plan(
        gates=layout.gates,
        sums=_site_plan(layout, sums, layout.gates, cell.weight_hh, t, steps),
        cell=_site_plan(layout, of_cell, 1, cell.weight_hh, t, steps),
        together=not isinstance(cell, GRU) and (sums.norm is None or sums.name == "norm_sum"),
        joint=layout.kind in OVER_FEATURES and not layout.per_gate,
        carries_normalized=layout.carries_normalized,
        factors=_of_factors(cell.weight_hh),
        mask=None if mask is None else mask.to(torch.uint8).contiguous(),
        keeps=torch.is_grad_enabled(),
        memory=_memory_of_a_block(),
    )


def _of_factors(weight: Tensor) -> torch.dtype:
    """Return the precision in which W_h is multiplied: autocast's precision if it is on, else the weight's own."""
    if weight.dtype == torch.float32 and torch.is_autocast_enabled(weight.device.type):
        return torch.get_autocast_dtype(weight.device.type)
    return weight.dtype


def _site_plan(layout: CellLayout, site: SiteLayout, gates: int, like: Tensor, t: int, steps: int) -> SitePlan:
    known = None
    if layout.kind is NormKind.POPULATION and isinstance(site.norm, BatchNormAtSite):
        known = torch.stack(site.norm.standardization(t, steps), 1).to(like.dtype).view(steps, 2, gates, -1)
    return SitePlan(layout.kind if site.norm is not None else NormKind.NONE, site.eps, known)


def _shift(cell: Any, sums: SiteLayout) -> Tensor | None:
    """Return the shift that follows the norm of the recurrent term: the norm's own shift, plus the cell's bias if the
    input's term does not contain the bias.
    """
    bias_comes_last = isinstance(cell, RNN) or sums.name == "norm_sum"
    bias: Tensor | None = cell.bias if bias_comes_last and cell.bias_place != "inside" else None
    if sums.shift is None or bias is None:
        return bias if sums.shift is None else sums.shift
    return sums.shift + bias


def _moments(at_site: SitePlan) -> Tensor:
    """Return the means and variances (2, T, G H) that the batch norm at a site measured."""
    assert at_site.statistics is not None
    return at_site.statistics[:, [0, 2]].transpose(0, 1).flatten(2)

"""The recurrence in Triton, and its gradient, as operators of torch: ``torch.ops.normbench.term_recurrence`` and
``term_recurrence_backward``.

Shapes: T steps, B examples, H hidden units, G gates.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor

from normcore.kernels.cell_layout import NormKind
from normcore.kernels.gpu import sequence, steps, steps_by_graph
from normcore.kernels.gpu.plan import Gradients, Plan, SitePlan, Tensors, Tiles
from normcore.kernels.gpu.products import product
from normcore.kernels.gradient import check_kinds, forbid_second_gradient
from normcore.kernels.library import LIBRARY, register_gradient

PARAMETERS = ("gain", "shift", "cell_gain", "cell_shift")
TENSORS = (
    "Tensor term, Tensor h0, Tensor? c0, Tensor weight, Tensor? gain, Tensor? shift, Tensor? cell_gain,"
    " Tensor? cell_shift, Tensor? mask, Tensor? population_sums, Tensor? population_cell"
)
PASS = "int gates, int[] kinds, float[] eps, bool together, bool joint, bool carries_normalized, ScalarType factors"
KEPT = "Tensor states, Tensor cells, Tensor sums, Tensor statistics_sums, Tensor statistics_cell"
LIBRARY.define(
    f"term_recurrence({TENSORS}, {PASS}, bool keeps) -> (Tensor h, Tensor c, {KEPT})",
)
LIBRARY.define(
    f"term_recurrence_backward({TENSORS}, {PASS}, {KEPT}, Tensor? grad_h, Tensor? grad_c, Tensor? grad_y) -> Tensor[]",
)
term_recurrence = torch.ops.normbench.term_recurrence.default
"""Compute a pass of a cell by Triton's kernels, from the input's term of all steps.

Args:
    term (T, B, G H): the input's term.
    h0, c0 (B, H): the first state; c0 is None for a cell without c.
    weight (G H, H): W_h.
    gain, shift (G H): parameters of the norm of the summed inputs.
    cell_gain, cell_shift (H): parameters of the norm of the cell c.
    mask: (T, B) of uint8, 0 at the steps that an example does not have.
    population_sums (T, 2, G, H), population_cell (T, 2, 1, H): see ``SitePlan.population``.
    kinds, eps: kind and eps of the norms of the sums and of the cell.
    gates, together, joint, carries_normalized, factors: see ``Plan``.
    keeps: whether everything is kept that backward needs. The operator's gradient sets it.

Returns:
    h and c (B, H) after the last step, c empty for a cell without c; the states (T + 1, B, H) before the first step and
    after every step; and what backward needs: see ``Tensors`` and ``SitePlan.statistics``.
"""
term_recurrence_backward = torch.ops.normbench.term_recurrence_backward.default


class _Arguments(NamedTuple):
    term: Tensor
    h0: Tensor
    c0: Tensor | None
    weight: Tensor
    gain: Tensor | None
    shift: Tensor | None
    cell_gain: Tensor | None
    cell_shift: Tensor | None
    mask: Tensor | None
    population_sums: Tensor | None
    population_cell: Tensor | None
    gates: int
    kinds: Sequence[int]
    eps: Sequence[float]
    together: bool
    joint: bool
    carries_normalized: bool
    factors: torch.dtype

    @property
    def parameters(self) -> tuple[Tensor | None, ...]:
        return self.gain, self.shift, self.cell_gain, self.cell_shift

    def plan(self, memory: int) -> Plan:
        """Plan the pass on a device whose blocks may use ``memory`` bytes of shared memory."""
        of_sums, of_cell = map(NormKind, self.kinds)
        return Plan(
            gates=self.gates,
            sums=SitePlan(of_sums, self.eps[0], self.population_sums),
            cell=SitePlan(of_cell, self.eps[1], self.population_cell),
            together=self.together,
            joint=self.joint,
            carries_normalized=self.carries_normalized,
            factors=self.factors,
            mask=self.mask,
            memory=memory,
        )

    def tensors(self, states: Tensor, cells: Tensor | None, sums: Tensor) -> Tensors:
        weight = self.weight.to(self.factors)
        return Tensors(self.term, weight, states, cells, sums, *self.parameters)


GIVEN = len(_Arguments._fields)


class _Room(NamedTuple):
    """Results of a forward pass, in the order of the operator's."""

    h: Tensor
    c: Tensor
    states: Tensor
    cells: Tensor
    sums: Tensor
    statistics_sums: Tensor
    statistics_cell: Tensor

    @classmethod
    def of(cls, given: _Arguments, plan: Plan, keeps: bool) -> "_Room":
        """Allocate the results, and point the plan at its statistics."""
        term, (batch, hidden) = given.term, given.h0.shape
        plan.make_room(len(term), batch, hidden, term)
        nothing = term.new_empty(0)
        has_c = given.c0 is not None
        return cls(
            h=term.new_empty(batch, hidden),
            c=term.new_empty(batch, hidden) if has_c else nothing,
            states=term.new_empty(len(term) + 1, batch, hidden),
            cells=term.new_empty(len(term) + 1, batch, hidden) if has_c else term.new_empty(0),
            sums=term.new_empty(len(term) if keeps else 1, *term.shape[1:]),
            statistics_sums=_own_statistics(plan.sums, term),
            statistics_cell=_own_statistics(plan.cell, term),
        )


def _own_statistics(site: SitePlan, like: Tensor) -> Tensor:
    """Return the statistics that the pass measures; an empty tensor if it measures none."""
    own = site.statistics if site.population is None else None
    return like.new_empty(0) if own is None else own


def _memory_of_a_block() -> int:
    """Return the bytes of shared memory that a block may use on the current device; the interpreter counts as an
    H100."""
    if triton.knobs.runtime.interpret:
        return 227 * 1024
    active = triton.runtime.driver.active
    memory: int = active.utils.get_device_properties(active.get_current_device())["max_shared_mem"]
    return memory


def _design(plan: Plan, of: Tensors) -> ModuleType:
    _, batch, hidden = of.states.shape
    if plan.fits_on_chip(batch, hidden):
        return sequence
    return steps_by_graph if of.weight.is_cuda else steps


def _forward(*arguments: Any) -> tuple[Tensor, ...]:
    given, keeps = _Arguments(*map(_contiguous, arguments[:-1])), arguments[-1]
    device = given.term.device
    with torch.cuda.device_of(given.term), torch.autocast(device.type, enabled=False):  # type: ignore[no-untyped-call]
        plan = given.plan(_memory_of_a_block())
        room = _Room.of(given, plan, keeps)
        room.states[0] = given.h0
        if given.c0 is not None:
            room.cells[0] = given.c0
        of = given.tensors(room.states, _or_none(room.cells), room.sums)
        _, batch, hidden = room.states.shape
        _design(plan, of).forward(plan, Tiles.of(plan, batch, hidden), of)
        room.h.copy_(room.states[-1])
        if given.c0 is not None:
            room.c.copy_(room.cells[-1])
    return room


def _backward(*arguments: Any) -> list[Tensor]:
    given = _Arguments(*map(_contiguous, arguments[:GIVEN]))
    states, cells, sums, of_sums, of_cell, grad_h, grad_c, grad_y = map(_contiguous, arguments[GIVEN:])
    device = given.term.device
    with torch.cuda.device_of(given.term), torch.autocast(device.type, enabled=False):  # type: ignore[no-untyped-call]
        plan = given.plan(_memory_of_a_block()).over(given.mask, _or_none(of_sums), _or_none(of_cell))
        of = given.tensors(states, _or_none(cells), sums)
        _, batch, hidden = states.shape
        tiles = Tiles.of(plan, batch, hidden)
        grads = Gradients(
            h=_copy_gradient(grad_h, given.h0),
            c=None if given.c0 is None else _copy_gradient(grad_c, given.c0),
            term=None if plan.together else torch.empty_like(of.sums),
            sums=torch.empty_like(of.sums),
            parameters=[None if p is None else p.new_zeros(tiles.grid[0], len(p)) for p in given.parameters],
        )
        of = of._replace(term=None) if plan.together else of
        _design(plan, of).backward(plan, tiles, of, grad_y, grads)
        of_weight = product(grads.sums.flatten(0, 1).t(), states[:-1].flatten(0, 1), plan.factors)
        of_parameters = [None if partial is None else partial.sum(0) for partial in grads.parameters]
    of_term = grads.sums if grads.term is None else grads.term
    return [grad for grad in (of_term, grads.h, grads.c, of_weight, *of_parameters) if grad is not None]


def _contiguous(argument: Any) -> Any:
    return argument.contiguous() if isinstance(argument, Tensor) else argument


def _or_none(tensor: Tensor) -> Tensor | None:
    return tensor if tensor.numel() else None


def _copy_gradient(grad: Tensor | None, like: Tensor) -> Tensor:
    """Copy a gradient, so that it can be overwritten. None, a gradient that is not needed, becomes zeros."""
    return torch.zeros_like(like) if grad is None else grad.clone(memory_format=torch.contiguous_format)


def _shapes_of_forward(*arguments: Any) -> tuple[Tensor, ...]:
    given = _Arguments(*arguments[:-1])
    return _Room.of(given, given.plan(memory=0), arguments[-1])


def _shapes_of_backward(*arguments: Any) -> list[Tensor]:
    given = _Arguments(*arguments[:GIVEN])
    differentiable = (given.term, given.h0, given.c0, given.weight, *given.parameters)
    return [tensor.new_empty(tensor.shape) for tensor in differentiable if tensor is not None]


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _, _, *kept = output
    ctx.mark_non_differentiable(*kept[1:])
    ctx.set_materialize_grads(False)
    given = _Arguments(*inputs[:GIVEN])
    tensors, ctx.of = inputs[:N_TENSORS], inputs[N_TENSORS:GIVEN]
    ctx.save_for_backward(*tensors, *kept)
    ctx.given = [tensor is not None for tensor in (given.term, given.h0, given.c0, given.weight, *given.parameters)]


@forbid_second_gradient
def _differentiate(
    ctx: Any, grad_h: Tensor | None, grad_c: Tensor | None, grad_states: Tensor | None, *_: Any
) -> tuple[Any, ...]:
    check_kinds(ctx.of[1])
    tensors, kept = ctx.saved_tensors[:N_TENSORS], ctx.saved_tensors[N_TENSORS:]
    grad_y = None if grad_states is None else grad_states[1:]
    found = iter(term_recurrence_backward(*tensors, *ctx.of, *kept, grad_h, grad_c, grad_y))
    return tuple(next(found) if is_given else None for is_given in ctx.given)


N_TENSORS = _Arguments._fields.index("gates")
for name, function in (("term_recurrence", _forward), ("term_recurrence_backward", _backward)):
    LIBRARY.impl(name, function, "CompositeExplicitAutograd")
torch.library.register_fake("normbench::term_recurrence", _shapes_of_forward, lib=LIBRARY)
torch.library.register_fake("normbench::term_recurrence_backward", _shapes_of_backward, lib=LIBRARY)
register_gradient("term_recurrence", _save, _differentiate)

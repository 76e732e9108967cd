"""The recurrence of a cell and its gradient, as a function for autograd.

Shapes: T steps, B examples, H hidden units, G gates.
"""

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from normcore.kernels.gpu import sequence, steps, steps_by_graph
from normcore.kernels.gpu.plan import Gradients, Plan, Tensors, Tiles
from normcore.kernels.gpu.products import product
from normcore.kernels.gradient import forbid_second_gradient


class Recurrence(torch.autograd.Function):
    """Recurrence of a cell over a sequence. It returns y (T, B, H), and h and c (B, H) after the last step; c is None
    for a cell without c."""

    @staticmethod
    def forward(
        ctx: Any,
        plan: Plan,
        term: Tensor,
        h0: Tensor,
        c0: Tensor | None,
        weight: Tensor,
        gain: Tensor | None,
        shift: Tensor | None,
        cell_gain: Tensor | None,
        cell_shift: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Run the forward pass.

        Args:
            term: the input's term (T, B, G H).
            h0, c0: the first state (B, H).
            weight: W_h (G H, H).
            gain, shift: gain and shift (G H) of the summed inputs.
            cell_gain, cell_shift: gain and shift (H) of the cell c.
        """
        (count, batch, _), hidden = term.shape, h0.shape[1]
        keeps = plan.keeps and any(ctx.needs_input_grad)
        plan.make_room(count, batch, hidden, term)
        of = Tensors(
            term=term,
            weight=weight.to(plan.factors),
            states=_after(h0, count),
            cells=None if c0 is None else _after(c0, count),
            sums=term.new_empty(count if keeps else 1, *term.shape[1:]),
            gain=gain,
            shift=shift,
            cell_gain=cell_gain,
            cell_shift=cell_shift,
        )
        _design(plan, of).forward(plan, Tiles.of(plan, batch, hidden), of)
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(
            *of._replace(term=None if plan.together else term), plan.sums.statistics, plan.cell.statistics
        )
        return of.states[1:], of.states[-1].clone(), None if of.cells is None else of.cells[-1].clone()

    @staticmethod
    @forbid_second_gradient
    def backward(ctx: Any, grad_y: Tensor | None, grad_h: Tensor | None, grad_c: Tensor | None) -> Any:
        *saved, of_sums, of_cell = ctx.saved_tensors
        plan: Plan = ctx.plan.over(ctx.plan.mask, of_sums, of_cell)
        of = Tensors(*saved)
        _, batch, hidden = of.states.shape
        tiles = Tiles.of(plan, batch, hidden)
        parameters = (of.gain, of.shift, of.cell_gain, of.cell_shift)
        grads = Gradients(
            h=_copy_gradient(grad_h, of.states[0]),
            c=None if of.cells is None else _copy_gradient(grad_c, of.cells[0]),
            term=None if plan.together else torch.empty_like(of.sums),
            sums=torch.empty_like(of.sums),
            parameters=[None if p is None else p.new_zeros(tiles.grid[0], len(p)) for p in parameters],
        )
        _design(plan, of).backward(plan, tiles, of, None if grad_y is None else grad_y.contiguous(), grads)
        of_weight = product(grads.sums.flatten(0, 1).t(), of.states[:-1].flatten(0, 1), plan.factors)
        of_parameters = [None if partial is None else partial.sum(0) for partial in grads.parameters]
        return None, grads.sums if grads.term is None else grads.term, grads.h, grads.c, of_weight, *of_parameters


def _design(plan: Plan, of: Tensors) -> ModuleType:
    _, batch, hidden = of.states.shape
    if plan.fits_on_chip(batch, hidden):
        return sequence
    return steps_by_graph if of.weight.is_cuda else steps


def _after(first: Tensor, count: int) -> Tensor:
    """Allocate the states (T + 1, B, H) before the first step and after every step, and fill in the first state."""
    states = first.new_empty(count + 1, *first.shape)
    states[0] = first
    return states


def _copy_gradient(grad: Tensor | None, like: Tensor) -> Tensor:
    """Copy a gradient, so that it can be overwritten. None, a gradient that is not needed, becomes zeros."""
    return torch.zeros_like(like) if grad is None else grad.clone(memory_format=torch.contiguous_format)

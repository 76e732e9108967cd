"""Compute a sequence step by step, with one product and one kernel for each step.

Shapes: T steps, B examples, H hidden units, G gates.
"""

import torch
from torch import Tensor

from normcore.kernels.gpu.device.backward import backward_step
from normcore.kernels.gpu.device.forward import forward_step
from normcore.kernels.gpu.device.tiles import Site
from normcore.kernels.gpu.plan import Gradients, Plan, Tensors, Tiles, at
from normcore.kernels.gpu.products import product
from normcore.norms.recurrent_batch_norm import ROUNDING


def forward(plan: Plan, tiles: Tiles, of: Tensors) -> None:
    """Run the forward pass: fill in states, cells, sums and statistics."""
    assert of.term is not None
    steps, batch, _ = of.term.shape
    weight_t = of.weight.t()
    squares = of.states.new_zeros(2, tiles.grid[1], batch)  # the part of |h|^2 from each program's units
    squares[0, 0] = of.states[0].square().sum(1)
    lengths = of.lengths
    for t in range(steps):
        a = of.sums[t % len(of.sums)]
        _multiply(of.states[t], weight_t, of.term[t] if plan.together else None, a)
        forward_step[tiles.grid](
            None if plan.together else of.term[t],
            a,
            of.states[t],
            at(of.cells, t),
            at(plan.mask, t),
            Site(of.gain, of.shift, at(plan.sums.statistics, t), lengths),
            Site(of.cell_gain, of.cell_shift, at(plan.cell.statistics, t), None),
            squares[t % 2],
            of.states[t + 1],
            at(of.cells, t + 1),
            squares[(t + 1) % 2],
            batch,
            ROUNDING=ROUNDING * torch.finfo(of.states.dtype).eps,
            PROGRAMS=tiles.grid[1],
            **plan.list_constants_of_forward(of.states.shape[2]),
            **tiles.meant,
        )


def backward(plan: Plan, tiles: Tiles, of: Tensors, grad_y: Tensor | None, grads: Gradients) -> None:
    """Run the backward pass: fill in ``grads`` from the gradients of y (T, B, H) and of the last state."""
    for t in reversed(range(len(of.sums))):
        backward_step[tiles.grid](
            at(of.term, t),
            of.sums[t],
            of.states[t],
            at(of.cells, t),
            at(plan.mask, t),
            Site(of.gain, of.shift, at(plan.sums.statistics, t), None),
            Site(of.cell_gain, of.cell_shift, at(plan.cell.statistics, t), None),
            at(grad_y, t),
            grads.h,
            grads.c,
            at(grads.term, t),
            grads.sums[t],
            *grads.parameters,
            of.states.shape[1],
            **plan.list_constants_of_both(of.states.shape[2]),
            **tiles.meant,
        )
        _multiply(grads.sums[t], of.weight, grads.h, grads.h)


def _multiply(factor: Tensor, weight: Tensor, term: Tensor | None, result: Tensor) -> None:
    """Write factor times weight, plus ``term`` unless it is None, to ``result``."""
    if factor.dtype != weight.dtype:
        rounded = product(factor, weight, weight.dtype)
        result.copy_(rounded) if term is None else torch.add(term, rounded, out=result)
    elif term is None:
        torch.mm(factor, weight, out=result)
    else:
        torch.addmm(term, factor, weight, out=result)

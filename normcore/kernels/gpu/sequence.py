"""Compute a sequence by one kernel, for cells whose recurrent weights fit on the chip.

Products of float32 numbers are computed in float32 ("ieee"), as in torch unless TF32 is allowed. With ``num_stages`` of
2 or more, Triton would use the shared memory that W_h needs to read ahead.
"""

import torch
from torch import Tensor

from normcore.kernels.gpu.device.persistent import backward_sequence, forward_sequence
from normcore.kernels.gpu.device.tiles import Site
from normcore.kernels.gpu.plan import Gradients, Plan, Tensors, Tiles
from normcore.norms.recurrent_batch_norm import ROUNDING


def forward(plan: Plan, tiles: Tiles, of: Tensors) -> None:
    """Run the forward pass: fill in states, cells, sums and statistics."""
    assert of.term is not None
    steps, batch, _ = of.term.shape
    forward_sequence[tiles.grid](
        of.term,
        of.weight,
        plan.mask,
        Site(of.gain, of.shift, plan.sums.statistics, of.lengths),
        Site(of.cell_gain, of.cell_shift, plan.cell.statistics, None),
        of.states,
        of.cells,
        of.sums if len(of.sums) == steps else None,
        steps,
        batch,
        TOGETHER=plan.together,
        ROUNDING=ROUNDING * torch.finfo(of.states.dtype).eps,
        PRECISION="ieee",
        num_stages=1,
        **plan.list_constants_of_forward(of.states.shape[2]),
        **tiles.meant,
    )


def backward(plan: Plan, tiles: Tiles, of: Tensors, grad_y: Tensor | None, grads: Gradients) -> None:
    """Run the backward pass: fill in ``grads`` from the gradients of y (T, B, H) and of the last state."""
    backward_sequence[tiles.grid](
        of.term,
        of.weight,
        plan.mask,
        Site(of.gain, of.shift, plan.sums.statistics, None),
        Site(of.cell_gain, of.cell_shift, plan.cell.statistics, None),
        of.states,
        of.cells,
        of.sums,
        grad_y,
        grads.h,
        grads.c,
        grads.term,
        grads.sums,
        *grads.parameters,
        len(of.sums),
        of.states.shape[1],
        PRECISION="ieee",
        num_stages=1,
        **plan.list_constants_of_both(of.states.shape[2]),
        **tiles.meant,
    )

"""Running averages of squared gradients. The squares have twice the exponent range of the gradients."""

import math

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm

from normcore.training.optimizers.eager import Eager, buffers


def root_mean_squares(optimizer: Eager, parameters: list[Tensor], decay: float, floor: float) -> list[Tensor]:
    """Update v = decay v + (1 - decay) g^2 with the parameters' gradients g, and return sqrt(v).

    v has the dtype of the parameters, or float64 while squares are out of that dtype's range. On a GPU v always has the
    parameters' dtype, as a check of the range would wait for the GPU. There, as in torch, v becomes infinite after an
    unclipped gradient of 1e20, and the parameter stops changing.

    Args:
        floor: roots much smaller than ``floor`` need not be exact.
    """
    gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
    own = gradients[0].dtype
    mean_square = buffers(optimizer, parameters, "mean_square")
    torch._foreach_mul_(mean_square, decay)
    dtype = torch.float64 if _is_out_of_range(optimizer.largest, gradients, mean_square, floor) else own
    if dtype != mean_square[0].dtype:
        mean_square = _convert_mean_squares(optimizer, parameters, dtype)
    measured = gradients if dtype == own else [g.to(dtype) for g in gradients]
    torch._foreach_addcmul_(mean_square, measured, measured, 1 - decay)
    roots = list(torch._foreach_sqrt(mean_square))
    return roots if dtype == own else [root.to(own) for root in roots]


def _is_out_of_range(largest: float, gradients: list[Tensor], mean_square: list[Tensor], floor: float) -> bool:
    numbers = torch.finfo(gradients[0].dtype)
    highest = math.sqrt(numbers.max) / 16
    if floor < math.sqrt(numbers.tiny / numbers.eps):
        return True
    if not gradients[0].is_cpu:
        return False
    if largest <= highest and mean_square[0].dtype == gradients[0].dtype:  # v is at most the largest g^2
        return False
    largest = max(math.sqrt(_greatest(mean_square)), _greatest(gradients))
    return highest < largest < math.inf


def _greatest(tensors: list[Tensor]) -> float:
    return get_total_norm(tensors, math.inf).item()


def _convert_mean_squares(optimizer: Eager, parameters: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    for p in parameters:
        state = optimizer.state[p]
        state["mean_square"] = state["mean_square"].to(dtype)
    return buffers(optimizer, parameters, "mean_square")

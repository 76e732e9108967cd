"""Gradient clipping."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from normcore.spec.training import Training

MARGIN = 1e-6  # torch adds it to the norm before dividing by the norm; Blocks' StepClipping adds nothing


def clip_(model: nn.Module, training: Training) -> Tensor:
    """Clip the model's gradients in place, as ``training`` says; returns their global norm before clipping."""
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    bound = training.clip_norm
    if bound is not None and training.clip == "global":
        return shorten_(gradients, bound)
    norm = norm_of(gradients)
    if bound is not None and training.clip == "global_root":
        _multiply_(gradients, torch.where(norm > bound**2, bound / norm.sqrt(), 1.0))
    elif bound is not None:
        for gradient in gradients:
            shorten_([gradient], bound)
    return norm


def shorten_(gradients: list[Tensor], bound: float) -> Tensor:
    """Scale gradients in place so that their joint norm is at most ``bound``; returns their joint norm before.

    This does the same as ``torch.nn.utils.clip_grad_norm_``, except that it can also handle squares that overflow.
    """
    norm = norm_of(gradients)
    _multiply_(gradients, (bound / (norm + MARGIN)).clamp(max=1.0))
    return norm


def largest_entry(training: Training, norm: Tensor) -> float:
    """Upper bound of the entries of the gradients after ``clip_``, which returned ``norm``.

    On a GPU ``norm`` is not read, as reading would wait for the GPU.
    """
    clipped = training.clip_norm if training.clip_norm is not None and training.clip != "global_root" else math.inf
    return min(norm.item(), clipped) if norm.is_cpu else clipped


def norm_of(tensors: Sequence[Tensor]) -> Tensor:
    """Euclidean norm of all tensors together. It is finite if all entries are finite, and 0 only if all entries are 0.

    If the plain sum of squares overflows or underflows, the tensors are first divided by their largest entry, and the
    norm is float64. The CPU computes this second norm only if needed. A GPU always computes both norms, so that the
    program need not wait for a number from the GPU.
    """
    plain = get_total_norm(tensors)
    numbers = torch.finfo(plain.dtype)
    lowest, highest = math.sqrt(numbers.tiny / numbers.eps), math.sqrt(numbers.max * numbers.eps)  # of exact squares
    if plain.is_cpu and lowest < plain.item() < highest:
        return plain
    tensors = [tensor for tensor in tensors if tensor.numel()]
    if not tensors:
        return plain
    largest = get_total_norm(tensors, math.inf)
    divisor = torch.where(largest.isfinite() & (largest > 0), largest, 1)
    scaled = get_total_norm(torch._foreach_div(tensors, divisor))
    is_exact = (lowest < plain) & (plain < highest)
    return torch.where(is_exact, plain.double(), divisor.double() * scaled.double())


def _multiply_(gradients: list[Tensor], factor: Tensor) -> None:
    """Multiply gradients by ``factor`` in place.

    On the CPU a factor that is subnormal in float32 would lose digits: its square root is multiplied twice.
    """
    is_subnormal = factor.is_cpu and factor.item() < torch.finfo(torch.float32).tiny
    for step in [factor.sqrt()] * 2 if is_subnormal else [factor]:
        torch._foreach_mul_(gradients, step)

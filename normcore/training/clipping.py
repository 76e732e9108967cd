"""Bounds on gradients."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from normcore.spec.training import Training

MARGIN = 1e-6  # that torch adds to the norm that it divides by; Blocks' StepClipping adds nothing


def clip_(model: nn.Module, training: Training) -> Tensor:
    """Scale the model's gradients to the norm that the spec allows; gives their global norm before."""
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
    """Scale gradients so that their norm together is at most ``bound``; gives their norm before.

    This is ``torch.nn.utils.clip_grad_norm_``, but for gradients whose squares overflow.
    """
    norm = norm_of(gradients)
    _multiply_(gradients, (bound / (norm + MARGIN)).clamp(max=1.0))
    return norm


def largest_entry(training: Training, norm: Tensor) -> float:
    """A bound of every number in the gradients after ``clip_``, which gave ``norm``; a GPU is not asked for it."""
    clipped = training.clip_norm if training.clip_norm is not None and training.clip != "global_root" else math.inf
    return min(norm.item(), clipped) if norm.is_cpu else clipped


def norm_of(tensors: Sequence[Tensor]) -> Tensor:
    """The Euclidean norm of all tensors together: finite if they are, and 0 only if they are.

    Where the plain sum of squares overflows or underflows, the tensors are divided by their largest entry first, and
    the norm is float64. On the CPU that is seldom; on a GPU both norms are computed, so that nobody waits for it.
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
    """Multiply in place; on the CPU in two steps if the factor is subnormal in float32, and would lose digits."""
    is_subnormal = factor.is_cpu and factor.item() < torch.finfo(torch.float32).tiny
    for step in [factor.sqrt()] * 2 if is_subnormal else [factor]:
        torch._foreach_mul_(gradients, step)

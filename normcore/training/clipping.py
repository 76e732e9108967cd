"""Bounds on gradients."""

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, get_total_norm

from normcore.spec.training import Training


def clip_(model: nn.Module, training: Training) -> Tensor:
    """Scale the model's gradients to the norm that the spec allows; gives their global norm before.

    Torch adds 1e-6 to the norm that it divides by, which Blocks' StepClipping does not.
    """
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if training.clip_norm is None:
        return get_total_norm(gradients)
    if training.clip == "global":
        return clip_grad_norm_(model.parameters(), training.clip_norm)
    norm = get_total_norm(gradients)
    if training.clip == "global_root":
        factor = torch.where(norm > training.clip_norm**2, training.clip_norm / norm.sqrt(), 1.0)
        for gradient in gradients:
            gradient.mul_(factor)
        return norm
    for gradient in gradients:
        own = torch.linalg.vector_norm(gradient)
        gradient.mul_((training.clip_norm / (own + 1e-6)).clamp(max=1.0))
    return norm

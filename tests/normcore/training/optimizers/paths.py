"""Sequences of parameters under an optimizer."""

import torch

from normcore.spec.optimizers import Optimizer
from normcore.training import optimizers

GRADIENTS = torch.tensor([[3.0, -2e-3, 50.0], [0.5, -1e-4, -7.0], [-4.0, 1e-2, 0.1]], dtype=torch.float64)


def path(options: Optimizer, gradients: torch.Tensor, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Compute the parameters (3,) after each gradient, starting at zero."""
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=dtype))
    optimizer = optimizers.build(options, [parameter])
    places = []
    for gradient in gradients:
        parameter.grad = gradient.clone()
        optimizer.step()
        places.append(parameter.detach().clone())
    return torch.stack(places)

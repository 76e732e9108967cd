"""Comparison of gradients with finite differences."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

STEP = 1e-6


def check_gradients(model: nn.Module, loss: Callable[[], Tensor], rel: float, abs_: float) -> None:
    """Check the gradient of the middle number of every parameter of a float64 model."""
    torch.autograd.backward(loss())
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        flat, place = parameter.data.view(-1), parameter.numel() // 2
        at = flat[place].item()
        values = []
        for sign in (1, -1):
            flat[place] = at + sign * STEP
            values.append(loss().item())
        flat[place] = at
        slope = (values[0] - values[1]) / (2 * STEP)
        assert parameter.grad.view(-1)[place].item() == pytest.approx(slope, rel=rel, abs=abs_), name

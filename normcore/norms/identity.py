"""The baseline: summed inputs are used as they are.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn

from normcore.norms import BiasPlace, Site
from normcore.spec import norm as spec


class NoNorm:
    """Nothing at any site, except the baseline's bias where an LSTM reads out its cell."""

    bias: BiasPlace = "outside"
    initial_state_noise = 0.0

    def __init__(self, options: spec.NoNorm | None = None) -> None:
        pass

    def norm(self, size: int, site: Site) -> nn.Module:
        return Shift(size) if site == "cell" else Identity()


class Identity(nn.Module):
    """a -> a."""

    def forward(self, a: Tensor, t: int) -> Tensor:
        return a


class Shift(nn.Module):
    """a -> a + b.

    The baseline of Cooijmans et al. 2017 reads out h' = o tanh(c' + b_c); the bias is in their code, not in their
    text, and makes the baseline as expressive as the shift of a normalized cell does.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, a: Tensor, t: int) -> Tensor:
        return a + self.bias

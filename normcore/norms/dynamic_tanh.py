"""Dynamic tanh: Zhu, Chen, He, LeCun, Liu 2025, arXiv:2503.10622.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, Size
from normcore.spec.methods import dynamic_tanh as spec
from normcore.spec.models.model import Place


class DynamicTanh(Normalization):
    """Dynamic tanh at the places where Ba et al. 2016 put layer norms. At the sum, the cell's own bias is the shift."""

    def __init__(self, options: spec.DynamicTanh) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        return ScaledTanh((hidden_size * sum(blocks),), options.alpha_init, options.gain_init, shift=site != "sum")

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        per_channel = (shape[0], *[1] * (len(shape) - 1))
        return ScaledTanh(per_channel, self.options.alpha_init, self.options.gain_init)


class ScaledTanh(nn.Module):
    """Dynamic tanh: weight tanh(alpha a) + bias, with one trained alpha for all features.

    Args:
        shape: shape of the gain and the shift: (F), a number for each feature, or (C, 1, 1), one for each channel.
    """

    def __init__(self, shape: tuple[int, ...], alpha_init: float, gain_init: float, shift: bool = True) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.full((), alpha_init))
        self.weight = nn.Parameter(torch.full(shape, gain_init))
        self.bias = nn.Parameter(torch.zeros(shape)) if shift else None

    def forward(self, a: Tensor, t: int = 0, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        bounded = self.weight * torch.tanh(self.alpha * a)
        return (bounded if self.bias is None else bounded + self.bias).to(a.dtype)

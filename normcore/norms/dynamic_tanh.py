"""Dynamic tanh: Zhu, Chen, He, LeCun, Liu 2025, arXiv:2503.10622.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, Size
from normcore.spec import norm as spec
from normcore.spec.norm import Site


class DynamicTanh(Normalization):
    """Dynamic tanh where Ba et al. 2016 put layer norms. The shift of the sum is the cell's own bias."""

    def __init__(self, options: spec.DynamicTanh) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Site, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if site not in self.options.sites:
            return super().norm(hidden_size, site)
        size = hidden_size * sum(blocks)
        return DynamicTanhAtSite(size, self.options.alpha_init, self.options.gain_init, shift=site != "sum")

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return DynamicTanhLayer(shape, self.options.alpha_init, self.options.gain_init)


class DynamicTanhLayer(nn.Module):
    """The same in a feed-forward or convolutional layer, with a gain and a shift for each feature or channel."""

    def __init__(self, shape: tuple[int, ...], alpha_init: float, gain_init: float) -> None:
        super().__init__()
        size = (shape[0], *[1] * (len(shape) - 1))
        self.alpha = nn.Parameter(torch.tensor(alpha_init))
        self.weight = nn.Parameter(torch.full(size, gain_init))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, a: Tensor) -> Tensor:
        return (self.weight * torch.tanh(self.alpha * a) + self.bias).to(a.dtype)


class DynamicTanhAtSite(nn.Module):
    """weight tanh(alpha a) + bias, with one trained alpha for all features."""

    def __init__(self, size: int, alpha_init: float, gain_init: float, shift: bool) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha_init))
        self.weight = nn.Parameter(torch.full((size,), gain_init))
        self.bias = nn.Parameter(torch.zeros(size)) if shift else None

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        bounded = self.weight * torch.tanh(self.alpha * a)
        return (bounded if self.bias is None else bounded + self.bias).to(a.dtype)

"""Root mean square layer normalization: Zhang, Sennrich 2019, arXiv:1910.07467.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms.normalization import Normalization, Size, at_least_float32
from normcore.spec import norm as spec
from normcore.spec.norm import Site


class RMSNorm(Normalization):
    """RMSNorm where Ba et al. 2016 put layer norms; a gain and no shift."""

    def __init__(self, options: spec.RMSNorm) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Site, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        return RMSNormAtSite([hidden_size * block for block in blocks], options.gain_init, options.eps)

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return RMSNormLayer(shape, self.options.gain_init, self.options.eps)


class RMSNormLayer(nn.Module):
    """The same over all units of a feed-forward or convolutional layer, with a gain for each."""

    def __init__(self, shape: tuple[int, ...], gain_init: float, eps: float) -> None:
        super().__init__()
        self.shape = shape
        self.eps = eps
        self.weight = nn.Parameter(torch.full(shape, gain_init))

    def forward(self, a: Tensor) -> Tensor:
        wide = at_least_float32(a)
        return functional.rms_norm(wide, self.shape, self.weight, self.eps).to(a.dtype)


class RMSNormAtSite(nn.Module):
    """weight a / sqrt(mean(a^2) + eps), the mean over a block's features of one example (Zhang and Sennrich, Eq. 4)."""

    def __init__(self, sizes: list[int], gain_init: float, eps: float) -> None:
        super().__init__()
        self.sizes = sizes
        self.eps = eps
        self.weight = nn.Parameter(torch.full((sum(sizes),), gain_init))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if len(self.sizes) == 1:
            return functional.rms_norm(wide, wide.shape[-1:], self.weight, self.eps).to(a.dtype)
        blocks = zip(wide.split_with_sizes(self.sizes, -1), self.weight.split_with_sizes(self.sizes), strict=True)
        return torch.cat([functional.rms_norm(x, x.shape[-1:], g, self.eps) for x, g in blocks], -1).to(a.dtype)

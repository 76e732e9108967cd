"""Layer normalization: Ba, Kiros, Hinton 2016, arXiv:1607.06450v1.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms.normalization import Normalization, Size, at_least_float32
from normcore.spec import norm as spec
from normcore.spec.norm import Site


class LayerNorm(Normalization):
    """LN(a) = weight (a - mean) / sqrt(var + eps) + bias at every site, LN Eq. 15-16.

    Every norm has a gain and a shift, except that the sum's has the gain alone: its shift is the cell's own bias.

    The gain starts at 1 and the shift at 0, as LN section 6 and the authors' code have it; the appendix prints the two
    the other way round.
    """

    def __init__(self, options: spec.LayerNorm) -> None:
        self.bias = options.bias
        self.bias_init = options.bias_init
        self.options = options

    def norm(self, hidden_size: int, site: Site, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        together = blocks if options.scope == "joint" else (1,) * sum(blocks)
        sizes = [hidden_size * block for block in together]
        shift = options.affine and site != "sum"
        return LayerNormAtSite(sizes, options.gain_init if options.affine else None, options.eps, shift)

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return LayerNormLayer(shape, self.options)


class LayerNormLayer(nn.Module):
    """weight (a - mean) / sqrt(var + eps) + bias over all units of a layer, those of an image's places included.

    Statistics of LN Eq. 3; a gain and a shift for each unit, or for each channel as batch norm has them.
    """

    def __init__(self, shape: tuple[int, ...], options: spec.LayerNorm) -> None:
        super().__init__()
        self.shape = shape
        self.eps = options.eps
        size = shape if options.conv_gain == "per_unit" else (shape[0], *[1] * (len(shape) - 1))
        self.weight = nn.Parameter(torch.full(size, options.gain_init)) if options.affine else None
        self.bias = nn.Parameter(torch.zeros(size)) if options.affine else None

    def forward(self, a: Tensor) -> Tensor:
        normalized = functional.layer_norm(at_least_float32(a), self.shape, eps=self.eps)
        if self.weight is not None and self.bias is not None:
            normalized = self.weight * normalized + self.bias
        return normalized.to(a.dtype)


class LayerNormAtSite(nn.Module):
    """weight (a - mean) / sqrt(var + eps) + bias, with mean and biased variance over a block's features of one example.

    The Theano code of the authors has eps inside the root, their Torch code outside.

    Args:
        sizes: of the blocks, which together are the F features.
        gain_init: None leaves the gain out.
    """

    def __init__(self, sizes: list[int], gain_init: float | None, eps: float, shift: bool) -> None:
        super().__init__()
        self.sizes = sizes
        self.eps = eps
        size = sum(sizes)
        self.weight = None if gain_init is None else nn.Parameter(torch.full((size,), gain_init))
        self.bias = nn.Parameter(torch.zeros(size)) if shift else None

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if len(self.sizes) == 1:
            return functional.layer_norm(wide, a.shape[-1:], self.weight, self.bias, self.eps).to(a.dtype)
        gains = [None] * len(self.sizes) if self.weight is None else self.weight.split_with_sizes(self.sizes)
        shifts = [None] * len(self.sizes) if self.bias is None else self.bias.split_with_sizes(self.sizes)
        blocks = zip(wide.split_with_sizes(self.sizes, -1), gains, shifts, strict=True)
        return torch.cat([functional.layer_norm(x, x.shape[-1:], g, b, self.eps) for x, g, b in blocks], -1).to(a.dtype)

"""Root mean square layer normalization: Zhang, Sennrich 2019, arXiv:1910.07467.

Shapes: T steps, B examples, F features; a layer's units (F) or (C, H, W).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, Size, at_least_float32, needs_float64, whole
from normcore.spec.methods import rms_norm as spec
from normcore.spec.models.model import Place


class RMSNorm(Normalization):
    """RMS normalization at the places where Ba et al. 2016 put layer norms, with a gain and without a shift."""

    def __init__(self, options: spec.RMSNorm) -> None:
        self.options = options
        self.bias_init = options.bias_init

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        return RMSNormalized([(hidden_size * block,) for block in blocks], options.gain_init, options.eps)

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return RMSNormalized([shape], self.options.gain_init, self.options.eps)


class RMSNormalized(nn.Module):
    """RMS norm: weight a / sqrt(mean(a^2) + eps), with the mean over a block's features of one example (Zhang and
    Sennrich, Eq. 4).

    Args:
        blocks: shapes of the blocks that have a mean of their own: (F) for gates of a cell; (F) or (C, H, W) for a
            whole layer. Each unit has a gain.
    """

    def __init__(self, blocks: Sequence[tuple[int, ...]], gain_init: float, eps: float) -> None:
        super().__init__()
        self.blocks = blocks
        self.eps = eps
        self.weight = nn.Parameter(torch.full(whole(blocks), gain_init))

    def forward(self, a: Tensor, t: int = 0, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if len(self.blocks) == 1:
            return rms_normalized(wide, self.weight, self.eps).to(a.dtype)
        sizes = [features for (features,) in self.blocks]
        gates = zip(wide.split_with_sizes(sizes, -1), self.weight.split_with_sizes(sizes), strict=True)
        return torch.cat([rms_normalized(x, g, self.eps) for x, g in gates], -1).to(a.dtype)


def rms_normalized(a: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Compute gain a / sqrt(mean(a^2) + eps), with the mean over the last axes, as many as ``gain`` has. The operations
    are those of ``torch.nn.functional.rms_norm``, except that float64 is used if a is so large that its squares or
    their gradients leave the range."""
    features = tuple(range(-gain.dim(), 0))
    mean_square = a.pow(2).mean(features, keepdim=True)
    if needs_float64(mean_square):
        a = a.double()
        mean_square = a.pow(2).mean(features, keepdim=True)
    return a * (mean_square + eps).rsqrt() * gain

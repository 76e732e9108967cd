"""What is computed. Workers import this.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn

import mean_absolute_norm as spec
from normcore.norms import Normalization, Place, Size


class MeanAbsoluteNorm(Normalization):
    """Where layer normalization would stand."""

    def __init__(self, options: spec.MeanAbsoluteNorm) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if site not in self.options.sites:
            return super().norm(hidden_size, site)
        return MeanAbsoluteNormAtSite(hidden_size * sum(blocks), self.options.eps)


class MeanAbsoluteNormAtSite(nn.Module):
    """weight (a - mean) / (mean |a - mean| + eps) + bias, with means over the F features of one example."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        """a (B, F) at step t, or (T, B, F) from step t on."""
        centred = a - a.mean(-1, keepdim=True)
        normalized: Tensor = centred / (centred.abs().mean(-1, keepdim=True) + self.eps)
        return self.weight * normalized + self.bias

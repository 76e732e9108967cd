"""Computation of the method. Workers import this module.

Shapes: T steps, B examples, F features; a layer's units (F) or (C, H, W).
"""

import torch
from torch import Tensor, nn

import mean_absolute_norm as spec
from normcore.norms import Normalization, Place, Size
from normcore.norms.normalization import at_least_float32


class MeanAbsoluteNorm(Normalization):
    """Norm that stands where layer normalization would stand."""

    def __init__(self, options: spec.MeanAbsoluteNorm) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if site not in self.options.sites:
            return super().norm(hidden_size, site)
        return MeanAbsoluteNormalized((hidden_size * sum(blocks),), self.options.eps)

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return MeanAbsoluteNormalized(shape, self.options.eps)


class MeanAbsoluteNormalized(nn.Module):
    """weight (a - mean) / (mean |a - mean| + eps) + bias, with means over all features of one example.

    Args:
        shape: of one example: a cell's features (F), or a whole layer, (F) or (C, H, W).
    """

    def __init__(self, shape: tuple[int, ...], eps: float) -> None:
        super().__init__()
        self.axes = tuple(range(-len(shape), 0))
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape))

    def forward(self, a: Tensor, t: int = 0, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        """Normalize a: in a cell (B, F) at step t, or (T, B, F) from step t on; in a layer (B, *shape)."""
        wide = at_least_float32(a)
        centred = wide - wide.mean(self.axes, keepdim=True)
        normalized = centred / (centred.abs().mean(self.axes, keepdim=True) + self.eps)
        return (self.weight * normalized + self.bias).to(a.dtype)

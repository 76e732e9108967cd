"""Group normalization: Wu, He 2018, arXiv:1803.08494.

Shapes: B examples; a layer's units (F) or (C, H, W).
"""

import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization, at_least_float32, needs_float64
from normcore.spec.methods import group_norm as spec


class GroupNorm(Normalization):
    """Group normalization: mean and variance of each example and each group of neighbouring channels, over all
    places."""

    def __init__(self, options: spec.GroupNorm) -> None:
        self.options = options

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        if shape[0] % self.options.groups:
            raise ValueError(
                f"expected channels that make {self.options.groups} equal groups, received {shape[0]};"
                " use another number of groups"
            )
        return GroupNormLayer(shape, self.options.groups, self.options.gain_init, self.options.eps)


class GroupNormLayer(nn.Module):
    """Group norm of a layer: weight (a - mean) / sqrt(var + eps) + bias, with a gain and a shift for each channel (Wu
    and He, Eq. 7)."""

    def __init__(self, shape: tuple[int, ...], groups: int, gain_init: float, eps: float) -> None:
        super().__init__()
        self.groups = groups
        self.eps = eps
        self.weight = nn.Parameter(torch.full(shape[:1], gain_init))
        self.bias = nn.Parameter(torch.zeros(shape[0]))

    def forward(self, a: Tensor) -> Tensor:
        y, inverse_root = self._normalize_groups(at_least_float32(a))
        if needs_float64(inverse_root.detach() ** -2):
            y, _ = self._normalize_groups(a.double())
        return y.to(a.dtype)

    def _normalize_groups(self, a: Tensor) -> tuple[Tensor, Tensor]:
        """Return the result of ``torch.nn.functional.group_norm``, and 1 / sqrt(var + eps)."""
        examples, channels = a.shape[:2]
        gain, shift = self.weight.to(a.dtype), self.bias.to(a.dtype)
        y, _, inverse_root = torch.native_group_norm(
            a, gain, shift, examples, channels, a[0, 0].numel(), self.groups, self.eps
        )
        return y, inverse_root

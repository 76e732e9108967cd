"""Layers of feed-forward and convolutional networks, with the norm of their summed inputs.

Shapes: B examples; F inputs and units of a linear layer; C channels of H x W places.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from normcore.models.build import Build
from normcore.norms.batch_norm import per_channel
from normcore.spec.models.model import Place


class NormalizedLinear(nn.Module):
    """Linear layer with a norm, norm(W x) + b: (B, F) -> (B, units). If the norm has a shift, b is that shift."""

    def __init__(self, build: Build, place: Place, inputs: int, units: int) -> None:
        super().__init__()
        self.norm = build.norm_at(place, (units,))
        self.linear = nn.Linear(inputs, units, bias=isinstance(self.norm, nn.Identity))
        self.bias = _bias_after(self.norm, units)
        _initialize_(self.linear, "relu")
        build.parametrize(place, self.linear, "weight")

    def forward(self, x: Tensor) -> Tensor:
        a: Tensor = self.norm(self.linear(x))
        return a if self.bias is None else a + self.bias


class NormalizedConv(nn.Module):
    """Convolution with a norm, norm(W * x) + b: (B, C, H, W) -> (B, channels, H', W'). If the norm has a shift, b is
    that shift.

    Args:
        shape: shape of the input, (C, H, W); the attribute ``shape`` is the shape of the output.
        padding: 1 keeps the size of an image under a 3 x 3 kernel, 0 cuts off the image's border.
    """

    def __init__(
        self, build: Build, shape: tuple[int, int, int], channels: int, kernel_size: int = 3, padding: int = 1
    ) -> None:
        super().__init__()
        shrinks = kernel_size - 1 - 2 * padding
        self.shape = (channels, shape[1] - shrinks, shape[2] - shrinks)
        self.norm = build.norm_at("layer", self.shape)
        unnormalized = isinstance(self.norm, nn.Identity)
        self.conv = nn.Conv2d(shape[0], channels, kernel_size, padding=padding, bias=unnormalized)
        self.bias = _bias_after(self.norm, channels)
        _initialize_(self.conv, "leaky_relu")
        build.parametrize("layer", self.conv, "weight")

    def forward(self, x: Tensor) -> Tensor:
        a: Tensor = self.norm(self.conv(x))
        return a if self.bias is None else a + per_channel(self.bias, a)


def _bias_after(norm: nn.Module, features: int) -> nn.Parameter | None:
    """Make the bias b that follows a norm without a shift. None if the norm has a shift, or is the identity."""
    shifts = isinstance(norm, nn.Identity) or getattr(norm, "bias", None) is not None
    return None if shifts else nn.Parameter(torch.zeros(features))


def _initialize_(layer: nn.Linear | nn.Conv2d, nonlinearity: Literal["relu", "leaky_relu"]) -> None:
    """Initialize a layer as in He et al. 2015: normal weights of variance 2 / inputs; biases of 0."""
    nn.init.kaiming_normal_(layer.weight, nonlinearity=nonlinearity)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)

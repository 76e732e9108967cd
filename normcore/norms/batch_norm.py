"""Batch normalization: Ioffe, Szegedy 2015, arXiv:1502.03167.

Shapes: B examples; a layer's units (F) or (C, H, W); statistics for each feature F or channel C.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_statistics import BatchStatistics, require_examples
from normcore.norms.normalization import Normalization, at_least_float32, needs_float64
from normcore.spec.methods import batch_norm as spec


class BatchNorm(Normalization):
    """Batch normalization of feed-forward and convolutional layers; for recurrent cells, ``recurrent_batch_norm``."""

    def __init__(self, options: spec.BatchNorm) -> None:
        self.options = options

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return BatchNormLayer(shape, self.options.gain_init, self.options.eps, self.options.variance == "unbiased")


class BatchNormLayer(BatchStatistics):
    """Batch norm of a layer: weight (a - mean) / sqrt(var + eps) + bias, LN Eq. 2. Mean and variance are over the
    examples and, for images, over all places.

    Args:
        unbiased: divide by the number of values minus 1 in the variance, also when it normalizes (LN section 6.6 with
            a batch of 4).
    """

    def __init__(self, shape: tuple[int, ...], gain_init: float, eps: float, unbiased: bool = False) -> None:
        super().__init__(shape[0])
        self.eps = eps
        self.unbiased = unbiased
        self.weight = nn.Parameter(torch.full(shape[:1], gain_init))
        self.bias = nn.Parameter(torch.zeros(shape[0]))

    def forward(self, a: Tensor) -> Tensor:
        wide = at_least_float32(a)
        if self.takes_batch:
            wide, mean, var = batch_moments(wide, self.unbiased)
            if self.wants_statistics:
                self.take_in(torch.stack([mean, var]).detach().unsqueeze(1))
        else:
            mean, var = (s[0] for s in self.population(0, 1))
        scale = self.weight * (var + self.eps).rsqrt()
        return ((wide - per_channel(mean, a)) * per_channel(scale, a) + per_channel(self.bias, a)).to(a.dtype)


def batch_moments(a: Tensor, unbiased: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Return a with its mean and variance: (F) over the examples of a (B, F), or (C) over the examples and places of
    a (B, C, H, W). All three are in float64 if squares leave the range of ``a``.

    Raises:
        ValueError: there are fewer than 2 values.
    """
    values = a.numel() // a.shape[1]
    require_examples(values)
    others = [axis for axis in range(a.dim()) if axis != 1]
    mean = a.mean(others)
    var = (a - per_channel(mean, a)).square().sum(others) / (values - unbiased)
    return batch_moments(a.double(), unbiased) if needs_float64(var) else (a, mean, var)


def per_channel(value: Tensor, a: Tensor) -> Tensor:
    """Reshape ``value`` (C) so that it broadcasts over a (B, C, ...)."""
    return value.view(-1, *[1] * (a.dim() - 2))

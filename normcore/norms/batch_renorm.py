"""Batch renormalization: Ioffe 2017, arXiv:1702.03275.

Shapes: B examples; a layer's units (F) or (C, H, W); statistics for each feature F or channel C.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import batch_moments, per_channel
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.normalization import Normalization
from normcore.spec import norm as spec


class BatchRenorm(Normalization):
    """Training uses what evaluation will, but for what lies beyond the clips."""

    def __init__(self, options: spec.BatchRenorm) -> None:
        self.options = options

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return BatchRenormLayer(shape, self.options)


class BatchRenormLayer(BatchStatistics):
    """weight ((a - mean) / std r + d) + bias, with r = clip(std / running_std) and d = clip((mean - running_mean) /
    running_std), through which no gradient flows (Ioffe, Algorithm 1).

    The first minibatch starts the running averages, so that r is 1 and d is 0 there. Deviation: eps is inside the
    root, as everywhere here; the paper adds it there too, for the minibatch's std alone.
    """

    def __init__(self, shape: tuple[int, ...], options: spec.BatchRenorm) -> None:
        super().__init__(shape[0], options.momentum)
        self.options = options
        self.weight = nn.Parameter(torch.full(shape[:1], options.gain_init))
        self.bias = nn.Parameter(torch.zeros(shape[0]))

    def forward(self, a: Tensor) -> Tensor:
        wide = a.to(torch.promote_types(a.dtype, torch.float32))
        if self.takes_batch:
            normalized = self._by_batch(wide)
        else:
            mean, var = (per_channel(s[0], a) for s in self.population(0, 1))
            normalized = (wide - mean) * (var + self.options.eps).rsqrt()
        return (per_channel(self.weight, a) * normalized + per_channel(self.bias, a)).to(a.dtype)

    def _by_batch(self, a: Tensor) -> Tensor:
        options = self.options
        mean, var = batch_moments(a)
        std = (var + options.eps).sqrt()
        normalized = (a - per_channel(mean, a)) / per_channel(std, a)
        if self.collecting is not None:
            self.note(mean.detach().unsqueeze(0), var.detach().unsqueeze(0), 0)
        if not self.training or self.collecting is not None:
            return normalized
        if len(self.running_mean) == 0:
            self.note(mean.detach().unsqueeze(0), var.detach().unsqueeze(0), 0)
        with torch.no_grad():
            running_std = (self.running_var[0] + options.eps).sqrt()
            r = (std / running_std).clamp(1 / options.r_max, options.r_max)
            d = ((mean - self.running_mean[0]) / running_std).clamp(-options.d_max, options.d_max)
            self.note(mean.unsqueeze(0), var.unsqueeze(0), 0)
        return normalized * per_channel(r, a) + per_channel(d, a)

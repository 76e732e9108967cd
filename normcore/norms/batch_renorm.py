"""Batch renormalization: Ioffe 2017, arXiv:1702.03275.

Shapes: B examples; a layer's units (F) or (C, H, W); statistics for each feature F or channel C.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import batch_moments, per_channel
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.normalization import Normalization, at_least_float32
from normcore.spec.methods import batch_renorm as spec


class BatchRenorm(Normalization):
    """Batch renormalization: training normalizes with the running statistics, as evaluation does, unless the
    corrections r and d reach their clipping limits."""

    def __init__(self, options: spec.BatchRenorm) -> None:
        self.options = options

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return BatchRenormLayer(shape, self.options)


class BatchRenormLayer(BatchStatistics):
    """Batch renormalization of a layer (Ioffe, Algorithm 1):

        y = weight ((a - mean) / std r + d) + bias
        r = clip(std / running_std)
        d = clip((mean - running_mean) / running_std)
        std = sqrt(var + eps)

    No gradient flows through r and d.

    The running averages are of standard deviations, not of variances: ``running_var`` is the square of the average
    standard deviation, which contains eps. After a pass for the population it is the average of the squares. The first
    minibatch starts the running averages, so r is 1 and d is 0 for that minibatch.
    """

    def __init__(self, shape: tuple[int, ...], options: spec.BatchRenorm) -> None:
        super().__init__(shape[0], options.momentum)
        self.options = options
        self.weight = nn.Parameter(torch.full(shape[:1], options.gain_init))
        self.bias = nn.Parameter(torch.zeros(shape[0]))

    def forward(self, a: Tensor) -> Tensor:
        wide = at_least_float32(a)
        if self.takes_batch:
            normalized = self._by_batch(wide)
        else:
            mean, var = (per_channel(s[0], a) for s in self.population(0, 1))
            normalized = (wide - mean) * var.rsqrt()
        return (per_channel(self.weight, a) * normalized + per_channel(self.bias, a)).to(a.dtype)

    def _by_batch(self, a: Tensor) -> Tensor:
        a, mean, var = batch_moments(a)
        std = (var + self.options.eps).sqrt()
        normalized = (a - per_channel(mean, a)) / per_channel(std, a)
        if self.collecting is not None:
            self.take_in(torch.stack([mean, std.square()]).detach().unsqueeze(1))
        if not self.training or self.collecting is not None:
            return normalized
        r, d = self._corrections(mean.detach(), std.detach())
        return normalized * per_channel(r, a) + per_channel(d, a)

    def _corrections(self, mean: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the corrections r and d (C) from the running averages. Then update these averages with ``mean`` and
        ``std`` of the minibatch."""
        options = self.options
        known = len(self.running_mean) > 0
        running_mean, running_std = (self.running_mean[0], self.running_var[0].sqrt()) if known else (mean, std)
        dtype = torch.promote_types(running_mean.dtype, mean.dtype)
        mean, std, running_mean, running_std = (s.to(dtype) for s in (mean, std, running_mean, running_std))
        r = (std / running_std).clamp(1 / options.r_max, options.r_max)
        d = ((mean - running_mean) / running_std).clamp(-options.d_max, options.d_max)
        self.running_mean = running_mean.lerp(mean, options.momentum).unsqueeze(0)
        self.running_var = running_std.lerp(std, options.momentum).square().unsqueeze(0)
        return r, d

"""Sequence-wise batch normalization: Laurent et al. 2015, arXiv:1510.01378; Amodei et al. 2015, arXiv:1512.02595.

Shapes: T steps, B examples, F features. Statistics are over both, for every feature.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import BatchNormLayer
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.normalization import Normalization, Size, at_least_float32
from normcore.spec.methods import sequence_batch_norm as spec
from normcore.spec.models.model import Place


class SequenceBatchNorm(Normalization):
    """W_h h + BN(W_x x) + b: only the input's term is normalized, its shift is the cell's own bias.

    A whole sequence has to be read at once where the minibatch decides.
    """

    def __init__(self, options: spec.SequenceBatchNorm) -> None:
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if site != "input":
            return super().norm(hidden_size, site)
        return SequenceBatchNormAtSite(hidden_size * sum(blocks), self.options.gain_init, self.options.eps)

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return BatchNormLayer(shape, self.options.gain_init, self.options.eps)


class SequenceBatchNormAtSite(BatchStatistics):
    """weight (a - mean) / sqrt(var + eps), with mean and biased variance over all steps that are not padding."""

    def __init__(self, size: int, gain_init: float, eps: float, momentum: float | None = None) -> None:
        super().__init__(size, momentum)
        self.eps = eps
        self.weight = nn.Parameter(torch.full((size,), gain_init))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        mean, var = self._statistics(wide, mask) if self.takes_batch else self.population(0, 1)  # (1, F)
        return ((wide - mean) * (self.weight * (var + self.eps).rsqrt())).to(a.dtype)

    def _statistics(self, a: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        rows = a.flatten(0, -2) if mask is None else a[mask]  # (N, F)
        if len(rows) < 2:
            raise ValueError(
                f"expected 2 or more steps to take statistics over, received {len(rows)};"
                " use more examples or longer ones, or evaluation mode"
            )
        mean = rows.mean(0, keepdim=True)
        var = (rows - mean).square().mean(0, keepdim=True)
        if self.wants_statistics:
            self.saw(mean.detach(), var.detach())
        return mean, var

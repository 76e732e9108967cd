"""Sequence-wise batch normalization: Laurent et al. 2015, arXiv:1510.01378; Amodei et al. 2015, arXiv:1512.02595.

Shapes: T steps, B examples, F features. Statistics are over both, for every feature.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import BatchNormLayer
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.normalization import Normalization, Size, at_least_float32, needs_float64
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
        mean, scale = self.standardization(wide, mask)
        return ((wide - mean) * scale).to(a.dtype)

    def standardization(self, a: Tensor | None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean and weight / sqrt(var + eps), (1, F) each, with which a (T, B, F) is normalized.

        Args:
            a: may be None where the population decides.

        Raises:
            ValueError: there are fewer than 2 steps, or no population.
        """
        if self.takes_batch:
            assert a is not None
            mean, var = _statistics(a, mask)
            if needs_float64(var):
                mean, var = _statistics(a.double(), mask)
            if self.wants_statistics:
                self.saw(mean.detach(), var.detach())
        else:
            mean, var = self.population(0, 1)
        return mean, self.weight * (var + self.eps).rsqrt()


def _statistics(a: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Mean and biased variance (1, F) over all steps that are not padding."""
    if mask is None:
        _require_steps(a[..., 0].numel())
        rows = a.flatten(0, -2)  # (N, F)
        mean = rows.mean(0, keepdim=True)
        return mean, (rows - mean).square().mean(0, keepdim=True)
    if mask.shape[-1] == 1:  # of more examples there are as many steps, and no device is waited for
        _require_steps(int(mask.sum()))
    mean = _mean_over(a, mask)
    return mean, _mean_over((a - mean).square(), mask)


def _mean_over(a: Tensor, mask: Tensor) -> Tensor:
    """(1, F), over the steps (T, B) that are there; whatever stands in the padding."""
    there = mask.unsqueeze(-1)
    return a.masked_fill(~there, 0).flatten(0, -2).sum(0, keepdim=True) / mask.sum()


def _require_steps(count: int) -> None:
    if count < 2:
        raise ValueError(
            f"expected 2 or more steps to take statistics over, received {count};"
            " use more examples or longer ones, or evaluation mode"
        )

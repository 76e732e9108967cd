"""Sequence-wise batch normalization: Laurent et al. 2015, arXiv:1510.01378; Amodei et al. 2015, arXiv:1512.02595.

Shapes: T steps, B examples, F features. The statistics of a feature are over steps and examples together.
"""

import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import BatchNormLayer
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.normalization import Normalization, Size, at_least_float32, needs_float64
from normcore.spec.methods import sequence_batch_norm as spec
from normcore.spec.models.model import Place


class SequenceBatchNorm(Normalization):
    """Sequence-wise batch normalization: W_h h + BN(W_x x) + b. Only the input's term is normalized. The cell's own
    bias b serves as the shift.

    With the minibatch's statistics, as in training, a whole sequence must be read at once.
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
    """Batch norm over a sequence: weight (a - mean) / sqrt(var + eps), with mean and biased variance over all steps of
    all examples except padding."""

    def __init__(self, size: int, gain_init: float, eps: float, momentum: float | None = None) -> None:
        super().__init__(size, momentum)
        self.eps = eps
        self.weight = nn.Parameter(torch.full((size,), gain_init))

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        mean, scale = self.standardization(wide, mask)
        return ((wide - mean) * scale).to(a.dtype)

    def standardization(self, a: Tensor | None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the mean and weight / sqrt(var + eps), (1, F) each, that normalize a (T, B, F).

        Args:
            a: may be None if the population's statistics are used.

        Raises:
            ValueError: there are fewer than 2 steps, or no population statistics.
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
    """Compute mean and biased variance (1, F) over all steps of all examples except padding."""
    if mask is None:
        _require_steps(a[..., 0].numel())
        rows = a.flatten(0, -2)  # (N, F)
        mean = rows.mean(0, keepdim=True)
        return mean, (rows - mean).square().mean(0, keepdim=True)
    if mask.shape[-1] == 1:  # 2 or more examples have 2 steps or more: no need to wait for the device
        _require_steps(int(mask.sum()))
    mean = _mean_over(a, mask)
    return mean, _mean_over((a - mean).square(), mask)


def _mean_over(a: Tensor, mask: Tensor) -> Tensor:
    """Compute the mean (1, F) over the steps where ``mask`` (T, B) is true. Values in the padding do not matter."""
    there = mask.unsqueeze(-1)
    return a.masked_fill(~there, 0).flatten(0, -2).sum(0, keepdim=True) / mask.sum()


def _require_steps(count: int) -> None:
    if count < 2:
        raise ValueError(
            f"expected 2 or more steps to take statistics over, received {count};"
            " use more examples or longer ones, or evaluation mode"
        )

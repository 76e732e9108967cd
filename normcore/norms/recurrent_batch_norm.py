"""Recurrent batch normalization: Cooijmans, Ballas, Laurent, Gülçehre, Courville 2017, arXiv:1603.09025v5.

Shapes: T steps, B examples, F features. Statistics are over the B examples, for every feature and every step.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms.batch_norm import BatchNormLayer
from normcore.norms.batch_statistics import BatchStatistics, require_examples
from normcore.norms.normalization import Normalization, Size, at_least_float32, needs_float64
from normcore.norms.sequence_batch_norm import SequenceBatchNormAtSite
from normcore.norms.step_average import StepAverage
from normcore.spec.methods import recurrent_batch_norm as spec
from normcore.spec.models.model import Place

SEQUENCE_EPS = 1e-6  # eps in the authors' code for statistics of the input's term over all steps
ROUNDING = 6  # largest rounding, in units in the last place of |w| |h|; products of equal rows differed by up to 1.8


class RecurrentBatchNorm(Normalization):
    """Recurrent batch normalization: BN_t(W_h h) + BN_t(W_x x) + b, and o tanh(BN_t(c)) for the LSTM (RBN Eq. 14-16).

    The norms of the two terms have no shift, because b serves for both (section 3). A site that is switched off is as
    in the baseline. Padded steps count in the statistics, as in the authors' code: the state at a padded step is a copy
    of the last state. In BN-e* (section 5.4) the statistics of the input's term are over all steps together, and padded
    steps do not count in them.

    Deviations: the paper does not say where a normalized RNN has its norm, and has no normalized GRU. Here the norms
    stand where Ba et al. 2016 put layer norms, in the RNN at the sum of both terms. Features that are constant over the
    batch have a rule of their own, see ``BatchNormAtSite``.
    """

    def __init__(self, options: spec.RecurrentBatchNorm) -> None:
        self.initial_state_noise = options.initial_state_noise
        self.carries_normalized_cell = options.carry == "normalized"
        self.options = options

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        options = self.options
        if site not in options.sites:
            return super().norm(hidden_size, site)
        size, momentum = hidden_size * sum(blocks), options.momentum if options.population == "running" else None
        if site == "input" and options.input_statistics == "sequence":
            return SequenceBatchNormAtSite(size, options.gain_init, SEQUENCE_EPS, momentum)
        return BatchNormAtSite(
            size,
            options.gain_init,
            options.eps,
            shift=site == "cell",
            per_step=options.statistics == "per_step",
            momentum=momentum,
        )

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return BatchNormLayer(shape, self.options.gain_init, self.options.eps)


class BatchNormAtSite(BatchStatistics):
    """Batch norm in a cell: weight (a - mean_t) / sqrt(var_t + eps) + bias, RBN Eq. 9, with separate statistics for
    every step t.

    The variance is biased, and the gradient flows through the minibatch's mean and variance. Without ``per_step``, the
    population statistics are the same at every step: the average over the steps.

    Deviation: for a feature that is constant over the batch, up to rounding, the output is the shift, and no gradient
    flows back. In evaluation mode the same holds for a feature whose population variance is 0. Examples are W_h h at
    the first step, where all examples have the same state, and every feature while images still show their empty
    border. The formula would multiply the gradients and rounding errors of such features by weight / sqrt(eps), 31.6
    with the usual options, at each of these steps. The gradient of anything that all examples share is 0 either way.
    Rounding is allowed for because a matrix product of equal rows is not always bitwise equal.
    """

    def __init__(
        self, size: int, gain_init: float, eps: float, shift: bool, per_step: bool = True, momentum: float | None = None
    ) -> None:
        super().__init__(size, momentum)
        self.eps = eps
        self.per_step = per_step
        self.weight = nn.Parameter(torch.full((size,), gain_init))
        self.bias = nn.Parameter(torch.zeros(size)) if shift else None

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        wide = at_least_float32(a)
        if not self.takes_batch:
            return self._by_population(wide, t).to(a.dtype)
        require_examples(a.shape[-2])
        spread, rounding = _measure_spread(a.detach(), size)
        varies = spread > rounding
        if needs_float64(spread.square()):
            wide = wide.double()
        if self.wants_statistics:
            mean, var = _mean_and_variance(wide.detach())  # (F) or (T, F)
            self.saw(mean.view(-1, a.shape[-1]), (var * varies).view(-1, a.shape[-1]))
        return self._by_batch(wide, varies).to(a.dtype)

    def _by_batch(self, a: Tensor, varies: Tensor) -> Tensor:
        weight = (self.weight * varies).to(a.dtype)  # (F) or (T, F)
        bias = None if self.bias is None else self.bias.to(a.dtype)
        if a.dim() == 2:
            return functional.batch_norm(a, None, None, weight, bias, True, 0.0, self.eps)
        steps, batch, features = a.shape
        columns = a.transpose(0, 1).reshape(batch, steps * features)  # each feature of each step is a column
        bias = None if bias is None else bias.repeat(steps)
        columns = functional.batch_norm(columns, None, None, weight.flatten(), bias, True, 0.0, self.eps)
        return columns.view(batch, steps, features).transpose(0, 1)

    def _by_population(self, a: Tensor, t: int) -> Tensor:
        mean, scale = self.standardization(t, len(a) if a.dim() == 3 else 1)
        scale = self.weight * scale
        if a.dim() == 3:
            mean, scale = mean.unsqueeze(1), scale.unsqueeze(1)
        normalized = (a - mean) * scale
        return normalized if self.bias is None else normalized + self.bias

    def standardization(self, t: int, steps: int) -> tuple[Tensor, Tensor]:
        """Return the population's mean and 1 / sqrt(var + eps), (steps, F) each, at the steps t, t + 1, ... The factor
        is 0 where the variance is 0.

        Raises:
            ValueError: there are no population statistics.
        """
        mean, var = self.population(t, steps)
        return mean, torch.where(var > 0, (var + self.eps).rsqrt(), 0.0)

    def known_population(self) -> tuple[Tensor, Tensor]:
        mean, var = super().known_population()
        return (mean, var) if self.per_step else (mean.mean(0, keepdim=True), var.mean(0, keepdim=True))

    def keep(self, collected: StepAverage) -> None:
        super().keep(collected)
        if not self.per_step:
            self.running_mean, self.running_var = (
                s.mean(0, keepdim=True) for s in (self.running_mean, self.running_var)
            )


def _measure_spread(a: Tensor, size: Size | None) -> tuple[Tensor, Tensor]:
    """Return each feature's spread over the examples, and the largest spread that rounding alone explains:
    (..., B, F) -> twice (..., F).

    For equal rows h, the products w'h differ only by the order of addition: by up to 1.8 units in the last place of
    |w| |h| for n = 1 to 4,000, even if the sum is much smaller. Rows that are equal except for the rounding of their
    last operation add one or two such units. So the limit of a feature follows from ``size``, the size of its products.
    The feature's own largest value is used if there is no ``size``, or if that value is larger, because something was
    added to the product. In float32, deviations of 0.01 around a mean of 10,000 count as variation. Under autocast,
    products are added up in higher precision than the sum is stored in; then one unit in the last place of the sum is
    rounding, too.
    """
    least, greatest = (at_least_float32(extreme) for extreme in (a.amin(-2), a.amax(-2)))
    own = torch.maximum(-least, greatest)
    largest = own if size is None else torch.maximum(own, at_least_float32(size()))
    added_up = ROUNDING * torch.finfo(own.dtype).eps * largest
    return greatest - least, torch.maximum(added_up, torch.finfo(a.dtype).eps * own)


def _mean_and_variance(a: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance over the examples: (..., B, F) -> twice (..., F).

    On the CPU, ``torch.var_mean`` takes five times as long over this axis.
    """
    mean = a.mean(-2)
    return mean, (a - mean.unsqueeze(-2)).square_().mean(-2)

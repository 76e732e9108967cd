"""Recurrent batch normalization: Cooijmans, Ballas, Laurent, Gülçehre, Courville 2017, arXiv:1603.09025v5.

Shapes: T steps, B examples, F features. Statistics are over the B examples, for every feature and every step.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms import BiasPlace, Site
from normcore.norms.identity import NoNorm
from normcore.norms.step_average import StepAverage
from normcore.spec import norm as spec

ROUNDING = 64  # units in the last place of the step's largest value; products of 2,000 equal rows differ by up to 18


class RecurrentBatchNorm:
    """BN_t(W_h h) + BN_t(W_x x) + b, and o tanh(BN_t(c)) for the LSTM (Eq. 14-16).

    The shifts of the two summed inputs are left out, b serving for both (section 3). The RNN normalizes their sum
    (section 4, Fig. 1a). A site that is switched off is the baseline's.

    Deviations: the paper defines no GRU; its norms stand where Ba et al. 2016, Eq. 26-28, put layer norms. Features
    that are constant over the batch are treated apart, see ``BatchNormAtSite``.
    """

    bias: BiasPlace = "outside"

    def __init__(self, options: spec.RecurrentBatchNorm) -> None:
        self.initial_state_noise = options.initial_state_noise
        self.options = options

    def norm(self, size: int, site: Site) -> nn.Module:
        if not self._is_on(site):
            return NoNorm().norm(size, site)
        per_step = self.options.statistics == "per_step"
        return BatchNormAtSite(size, self.options.gain_init, self.options.eps, shift=site == "cell", per_step=per_step)

    def _is_on(self, site: Site) -> bool:
        if site != "sum":
            return site in self.options.sites
        terms = {"input", "recurrent"} & set(self.options.sites)
        if len(terms) == 1:
            raise ValueError(
                f"expected both or none of the sites input and recurrent, received {terms.pop()} alone;"
                " this cell normalizes the sum of the two"
            )
        return bool(terms)


class BatchNormAtSite(nn.Module):
    """weight (a - mean_t) / sqrt(var_t + eps) + bias, with statistics of its own for every step t.

    In training mode they are the mean and biased variance of the minibatch, and the gradient flows through them. In
    evaluation mode they are the population's, ``running_mean[t]`` and ``running_var[t]`` (T, F), which
    ``normcore.norms.population.population_statistics`` collects; beyond the last collected step its statistics stay
    in use.

    Deviation: a feature that is constant over the batch, up to rounding, gives the shift and passes no gradient on;
    in evaluation mode, so does one whose population variance is 0. Such are W_h h at the first step, whose state all
    examples share, and every feature while images still show their empty border. The formula would multiply their
    gradients, and their rounding errors, by weight / sqrt(eps), 31.6 with the usual options, at each of these steps;
    the gradient of whatever the examples share is 0 either way. Rounding is allowed for because equal rows do not
    always stay bitwise equal in a matrix product.

    Attributes:
        uses_batch: whether batch statistics serve in evaluation mode too.
        collecting: where the statistics of a forward pass go; None while nobody collects.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, size: int, gain_init: float, eps: float, shift: bool, per_step: bool) -> None:
        super().__init__()
        self.eps = eps
        self.per_step = per_step
        self.weight = nn.Parameter(torch.full((size,), gain_init))
        self.bias = nn.Parameter(torch.zeros(size)) if shift else None
        self.register_buffer("running_mean", torch.empty(0, size))
        self.register_buffer("running_var", torch.empty(0, size))
        self.uses_batch = False
        self.collecting: StepAverage | None = None

    def forward(self, a: Tensor, t: int) -> Tensor:
        wide = a.to(torch.promote_types(a.dtype, torch.float32))
        if not (self.training or self.uses_batch or self.collecting):
            return self._by_population(wide, t).to(a.dtype)
        if a.shape[-2] < 2:
            raise ValueError(
                f"expected 2 or more examples to take statistics over, received {a.shape[-2]};"
                " use a larger batch, or evaluation mode"
            )
        varies = _varies(wide.detach())
        if self.collecting:
            var, mean = torch.var_mean(wide.detach(), -2, correction=0)  # (F) or (T, F)
            self.collecting.add(torch.stack([mean, var * varies], -2).view(-1, 2, a.shape[-1]), t)
        return self._by_batch(wide, varies).to(a.dtype)

    def _by_batch(self, a: Tensor, varies: Tensor) -> Tensor:
        weight = self.weight * varies  # (F) or (T, F)
        if a.dim() == 2:
            return functional.batch_norm(a, None, None, weight, self.bias, True, 0.0, self.eps)
        steps, batch, features = a.shape
        columns = a.transpose(0, 1).reshape(batch, steps * features)  # a step's feature is a feature of its own
        bias = None if self.bias is None else self.bias.repeat(steps)
        columns = functional.batch_norm(columns, None, None, weight.flatten(), bias, True, 0.0, self.eps)
        return columns.view(batch, steps, features).transpose(0, 1)

    def _by_population(self, a: Tensor, t: int) -> Tensor:
        known = len(self.running_mean)
        if known == 0:
            raise ValueError(
                "expected population statistics in evaluation mode, received none; run forward passes over the"
                " training data inside population_statistics(model), or use batch_statistics(model)"
            )
        steps = torch.arange(t, t + len(a), device=a.device).clamp(max=known - 1) if a.dim() == 3 else min(t, known - 1)
        mean, var = self.running_mean[steps], self.running_var[steps]  # (F) or (T, F)
        scale = self.weight * torch.where(var > 0, (var + self.eps).rsqrt(), 0.0)
        normalized = (a - mean.unsqueeze(-2)) * scale.unsqueeze(-2)
        return normalized if self.bias is None else normalized + self.bias

    def keep(self, collected: StepAverage) -> None:
        """Make the averages of ``collected`` the population statistics."""
        statistics = collected.mean()  # (T, 2, F)
        if not self.per_step:
            statistics = statistics.mean(0, keepdim=True)
        self.running_mean, self.running_var = (s.contiguous() for s in statistics.unbind(1))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name in ("running_mean", "running_var"):
            loaded = state_dict.get(prefix + name)
            if loaded is not None:
                buffer = getattr(self, name)
                setattr(self, name, buffer.new_empty(len(loaded), buffer.shape[1]))
        super()._load_from_state_dict(state_dict, prefix, *args)


def _varies(a: Tensor) -> Tensor:
    """Which features differ between examples by more than rounding explains: (..., B, F) -> (..., F)."""
    spread = (a - a[..., :1, :]).abs_().amax(-2)
    rounding = ROUNDING * torch.finfo(a.dtype).eps * a.abs().amax((-2, -1))
    return spread > rounding.unsqueeze(-1)

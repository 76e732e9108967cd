"""Base class of normalizations over the batch: statistics of the minibatch in training, of the population in
evaluation.

Shapes: T steps of a sequence, S steps whose statistics are known, F features. The moments (2, T, F) of a minibatch are
its means and its variances.
"""

from typing import Any

import torch
from torch import Tensor, nn

from normcore.norms.step_average import StepAverage


class BatchStatistics(nn.Module):
    """Base class that stores the population statistics ``running_mean`` and ``running_var`` (S, F) of every step, and
    decides when they are used.

    In training mode a subclass normalizes by the minibatch, in evaluation mode by the population. The population's
    statistics come from a separate pass (``normcore.norms.population``) or, with ``momentum``, from running averages
    of the minibatches that training sees. They are in float64 if a minibatch's statistics were: see ``needs_float64``.

    Attributes:
        momentum: weight of the newest minibatch in running averages; None if a pass computes the statistics instead.
        uses_batch: whether evaluation mode, too, uses the minibatch's statistics.
        standard_if_unknown: whether a population without statistics has mean 0 and variance 1; otherwise it is an
            error.
        collecting: average that collects the statistics of forward passes; None outside of a collecting pass.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, size: int, momentum: float | None = None) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running_mean", torch.empty(0, size))
        self.register_buffer("running_var", torch.empty(0, size))
        self.uses_batch = False
        self.standard_if_unknown = False
        self.collecting: StepAverage | None = None
        self._seen: list[Tensor] = []

    @property
    def takes_batch(self) -> bool:
        """Tell if this norm uses the minibatch's statistics now, not the population's."""
        return self.training or self.uses_batch or self.collecting is not None

    @property
    def wants_statistics(self) -> bool:
        """Tell if the moments of this minibatch will be used."""
        return self.collecting is not None or (self.training and self.momentum is not None)

    def saw(self, mean: Tensor, var: Tensor) -> None:
        """Store the minibatch's mean and variance at the next steps, (T, F) each, without gradient, for ``moments``."""
        self._seen.append(torch.stack([mean, var]))

    def moments(self) -> Tensor | None:
        """Return the minibatch's moments (2, T, F) at all steps that ``saw`` stored since the last call. None if
        nothing was stored, because nobody uses the moments."""
        seen, self._seen = self._seen, []
        return torch.cat(seen, 1) if seen else None

    def take_in(self, moments: Tensor, t: int = 0) -> None:
        """Average a minibatch's moments (2, T, F) at the steps t, t + 1, ... into the population's statistics.

        Raises:
            ValueError: steps before t are missing.
        """
        if self.collecting is not None:
            self.collecting.add(moments.transpose(0, 1), t)
        elif self.momentum is not None:
            mean, var = moments
            self.running_mean = _update_averages(self.running_mean, mean, t, self.momentum)
            self.running_var = _update_averages(self.running_var, var, t, self.momentum)

    def keep(self, collected: StepAverage) -> None:
        """Make the averages of ``collected`` the population statistics."""
        self.running_mean, self.running_var = (s.contiguous() for s in collected.mean().unbind(1))

    def population(self, t: int, steps: int) -> tuple[Tensor, Tensor]:
        """Return the population's mean and variance (steps, F) from step t on. Steps after the last known step have
        the statistics of the last known step.

        Raises:
            ValueError: there are no population statistics.
        """
        mean, var = self.known_population()
        at = torch.arange(t, t + steps, device=mean.device).clamp(max=len(mean) - 1)
        return mean[at], var[at]

    def known_population(self) -> tuple[Tensor, Tensor]:
        """Return the population's mean and variance at every known step, (S, F) each.

        Raises:
            ValueError: there are no population statistics.
        """
        mean, var = self.running_mean, self.running_var
        if mean.shape[0] == 0 and self.standard_if_unknown:
            return mean.new_zeros(1, mean.shape[1]), var.new_ones(1, var.shape[1])
        if mean.shape[0] == 0:
            raise ValueError(
                "expected population statistics in evaluation mode, received none; run forward passes over the"
                " training data inside population_statistics(model), or use batch_statistics(model); a layer of"
                " normcore.nn has calibrate(batches)"
            )
        return mean, var

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        mean, var = (state_dict.get(prefix + name) for name in ("running_mean", "running_var"))
        if mean is not None and var is not None:
            if len(mean) == len(var):
                self.running_mean, self.running_var = (
                    buffer.new_empty(len(mean), buffer.shape[1], dtype=torch.promote_types(buffer.dtype, var.dtype))
                    for buffer in (self.running_mean, self.running_var)
                )
            else:
                *_, errors = args
                errors.append(f"{prefix}running_mean has {len(mean)} steps, {prefix}running_var {len(var)}")
        super()._load_from_state_dict(state_dict, prefix, *args)


def require_examples(count: int) -> None:
    """Check that there are enough values to take statistics over.

    Raises:
        ValueError: there are fewer than 2.
    """
    if count < 2:
        raise ValueError(
            f"expected 2 or more examples to take statistics over, received {count};"
            " use a larger batch, or evaluation mode"
        )


def _update_averages(running: Tensor, new: Tensor, t: int, momentum: float) -> Tensor:
    """Update the running averages (S, F) with the values ``new`` of the steps t, t + 1, ... The average of a step
    that was not known before starts with the step's new value."""
    if t > len(running):
        raise ValueError(
            f"expected statistics of step {len(running)}, received step {t}; pass sequences from the start"
        )
    dtype = torch.promote_types(running.dtype, new.dtype)
    running, new = running.to(dtype), new.to(dtype)
    known = running[t : t + len(new)]
    averages = known.lerp(new[: len(known)], momentum)
    if len(known) == len(running) == len(new):
        return averages  # the usual case, without a copy
    return torch.cat([running[:t], averages, new[len(known) :], running[t + len(new) :]])

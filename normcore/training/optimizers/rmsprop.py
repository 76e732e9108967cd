"""RMSProp as implemented in Blocks."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from normcore.spec.optimizers import rmsprop as spec
from normcore.training.optimizers.eager import Eager, buffers
from normcore.training.optimizers.mean_squares import root_mean_squares

MIN_RMS = 1e-5


class RMSProp(Eager):
    """RMSProp of Blocks (mila-udem/blocks, ``algorithms.RMSProp``). RBN's pixel tasks were trained with it.

    v = decay v + (1 - decay) g^2;  p = p - lr u,  where u = g / max(sqrt(v), 1e-5). With momentum,
    m = momentum m + u takes the place of u. v begins at zero, so the first step is lr / sqrt(1 - decay) everywhere.

    Deviation from ``torch.optim.RMSprop``: the small number 1e-5 is a lower bound of the root; torch adds it.
    """

    def __init__(self, options: spec.RMSProp, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__(parameters, options.model_dump(exclude={"name"}))

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient; ``closure`` is ignored."""
        for group in self.param_groups:
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(parameters, group)

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        lr, momentum = group["lr"], group["momentum"]
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        rms = root_mean_squares(self, parameters, group["decay"], MIN_RMS)
        torch._foreach_clamp_min_(rms, MIN_RMS)
        steps = list(torch._foreach_div(gradients, rms))
        if momentum:
            velocity = buffers(self, parameters, "velocity")
            torch._foreach_mul_(velocity, momentum)
            torch._foreach_add_(velocity, steps)
            steps = velocity
        torch._foreach_add_(parameters, steps, alpha=-lr)

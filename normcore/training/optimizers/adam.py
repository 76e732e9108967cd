"""Adam: Kingma and Ba 2015, arXiv:1412.6980."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from normcore.spec.optimizers.optimizer import Moments
from normcore.training.optimizers.eager import Eager, buffers
from normcore.training.optimizers.mean_squares import root_mean_squares


class Adam(Eager):
    """Adam (Kingma and Ba 2015, Algorithm 1), with the same operations as ``torch.optim.Adam(foreach=True)``.

    m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
    p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
    """

    def __init__(self, options: Moments, parameters: Iterable[nn.Parameter]) -> None:
        super().__init__(parameters, {**options.model_dump(exclude={"name"}), "t": 0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update all parameters that have a gradient; ``closure`` is ignored."""
        for group in self.param_groups:
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if parameters:
                group["t"] += 1
                self._update(parameters, group)

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        t, lr, beta1, beta2, eps = (group[name] for name in ("t", "lr", "beta1", "beta2", "eps"))
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        mean = buffers(self, parameters, "mean")
        torch._foreach_lerp_(mean, gradients, 1 - beta1)
        rms = root_mean_squares(self, parameters, beta2, eps)
        lr_t = self._correct_bias(rms, t, lr, beta1, beta2)
        torch._foreach_add_(rms, eps)
        torch._foreach_addcdiv_(parameters, mean, rms, -lr_t)

    def _correct_bias(self, rms: list[Tensor], t: int, lr: float, beta1: float, beta2: float) -> float:
        """Apply Adam's bias correction at update ``t``: ``rms`` in place, and the learning rate, which is returned."""
        torch._foreach_div_(rms, math.sqrt(1 - beta2**t))
        return lr / (1 - beta1**t)

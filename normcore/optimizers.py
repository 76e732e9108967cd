"""Optimizers: a tag in ``normcore/spec/training.py`` names a function here that builds it.

A new one is a class of options there and an entry in ``build``.
"""

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from normcore.spec import training as spec

MIN_RMS = 1e-5


class Eager(Optimizer):
    """torch's base of optimizers without its ties to torch's compiler, which nothing here goes through.

    At their first call these methods would import it: 1.4 s and 90 MB for every process that trains.
    """

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    state_dict = inspect.unwrap(Optimizer.state_dict)
    load_state_dict = inspect.unwrap(Optimizer.load_state_dict)


class RMSProp(Eager):
    """RMSProp as Blocks has it (mila-udem/blocks, ``algorithms.RMSProp``), which trained RBN's pixel tasks.

    v = decay v + (1 - decay) g^2;  p = p - lr u,  where u = g / max(sqrt(v), 1e-5). With momentum,
    m = momentum m + u takes the place of u. v begins at zero, so the first step is lr / sqrt(1 - decay) everywhere.

    Deviation from ``torch.optim.RMSprop``: the small number bounds the root from below, instead of being added.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, decay: float, momentum: float) -> None:
        super().__init__(parameters, {"lr": lr, "decay": decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update; there is no closure."""
        for group in self.param_groups:
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if parameters:
                self._update(parameters, group["lr"], group["decay"], group["momentum"])

    def _update(self, parameters: list[Tensor], lr: float, decay: float, momentum: float) -> None:
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        mean_square = _buffers(self, parameters, "mean_square")
        torch._foreach_mul_(mean_square, decay)
        torch._foreach_addcmul_(mean_square, gradients, gradients, 1 - decay)
        rms = torch._foreach_sqrt(mean_square)
        torch._foreach_clamp_min_(rms, MIN_RMS)
        steps = list(torch._foreach_div(gradients, rms))
        if momentum:
            velocity = _buffers(self, parameters, "velocity")
            torch._foreach_mul_(velocity, momentum)
            torch._foreach_add_(velocity, steps)
            steps = velocity
        torch._foreach_add_(parameters, steps, alpha=-lr)


class Adam(Eager):
    """Adam (Kingma and Ba 2015, Algorithm 1), operation by operation that of ``torch.optim.Adam(foreach=True)``.

    m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
    p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, betas: tuple[float, float], eps: float) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "t": 0})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update; there is no closure."""
        for group in self.param_groups:
            parameters: list[Tensor] = [p for p in group["params"] if p.grad is not None]
            if parameters:
                group["t"] += 1
                beta1, beta2 = group["betas"]
                self._update(parameters, group["t"], group["lr"], beta1, beta2, group["eps"])

    def _update(self, parameters: list[Tensor], t: int, lr: float, beta1: float, beta2: float, eps: float) -> None:
        gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
        mean = _buffers(self, parameters, "mean")
        torch._foreach_lerp_(mean, gradients, 1 - beta1)
        mean_square = _buffers(self, parameters, "mean_square")
        torch._foreach_mul_(mean_square, beta2)
        torch._foreach_addcmul_(mean_square, gradients, gradients, 1 - beta2)
        rms = list(torch._foreach_sqrt(mean_square))
        lr_t = self._corrected(rms, t, lr, beta1, beta2)
        torch._foreach_add_(rms, eps)
        torch._foreach_addcdiv_(parameters, mean, rms, -lr_t)

    def _corrected(self, rms: list[Tensor], t: int, lr: float, beta1: float, beta2: float) -> float:
        """The learning rate of update t; ``rms`` is corrected in place."""
        torch._foreach_div_(rms, math.sqrt(1 - beta2**t))
        return lr / (1 - beta1**t)


class TorontoAdam(Adam):
    """Adam as the public code of order-embedding and skip-thoughts has it, which trained LN's models.

    p = p - lr_t m / (sqrt(v) + eps), with lr_t = lr sqrt(1 - (1 - beta2)^t) / (1 - (1 - beta1)^t). Kingma and Ba 2015
    have beta^t there, so here nothing but the first steps is corrected, and they are larger: 3.5 lr at t = 1, 6.5 at
    10, 3.2 at 100, 1.26 at 1000.
    """

    def _corrected(self, rms: list[Tensor], t: int, lr: float, beta1: float, beta2: float) -> float:
        return lr * math.sqrt(1 - (1 - beta2) ** t) / (1 - (1 - beta1) ** t)


def build(options: spec.Optimizer, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The optimizer that ``options`` asks for."""
    if isinstance(options, spec.RMSProp):
        return RMSProp(parameters, options.lr, options.decay, options.momentum)
    betas = (options.beta1, options.beta2)
    kind = TorontoAdam if isinstance(options, spec.TorontoAdam) else Adam
    return kind(parameters, options.lr, betas, options.eps)


def _buffers(optimizer: Optimizer, parameters: list[Tensor], name: str) -> list[Any]:
    """What the optimizer keeps of each parameter under this name; it starts at zero."""
    for p in parameters:
        if name not in optimizer.state[p]:
            optimizer.state[p][name] = torch.zeros_like(p)
    return [optimizer.state[p][name] for p in parameters]

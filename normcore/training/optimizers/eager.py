"""Common parts of our optimizers."""

import inspect
import math
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

_load_state_dict = inspect.unwrap(Optimizer.load_state_dict)


class Eager(Optimizer):
    """Base class of our optimizers: torch's ``Optimizer`` without the wrappers for torch's compiler.

    The compiler is not used here. torch's wrappers would import it at their first call: 1.4 s and 90 MB in every
    process that trains.

    Attributes:
        largest: upper bound of the entries of the gradients at the next step; infinity if no bound is known.
    """

    largest: float = math.inf

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    state_dict = inspect.unwrap(Optimizer.state_dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state that ``state_dict`` returned. Unlike in torch, each tensor keeps its saved dtype."""
        _load_state_dict(self, state_dict)
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        parameters = chain.from_iterable(group["params"] for group in self.param_groups)
        for number, p in zip(numbers, parameters, strict=True):
            for name, saved in state_dict["state"].get(number, {}).items():
                self.state[p][name] = self.state[p][name].to(saved.dtype)
                self.state[p][name].copy_(saved)


def buffers(optimizer: Optimizer, parameters: list[Tensor], name: str) -> list[Any]:
    """Buffers called ``name`` in the optimizer's state, one for each parameter; new buffers are zero."""
    for p in parameters:
        if name not in optimizer.state[p]:
            optimizer.state[p][name] = torch.zeros_like(p)
    return [optimizer.state[p][name] for p in parameters]

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
    """torch's base of optimizers without its ties to torch's compiler, which nothing here goes through.

    At their first call these methods would import it: 1.4 s and 90 MB for every process that trains.

    Attributes:
        largest: no number in the gradients of the next step is larger; infinity if nobody knows.
    """

    largest: float = math.inf

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    state_dict = inspect.unwrap(Optimizer.state_dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what ``state_dict`` gave; unlike torch, leave each number in the type that it was saved in."""
        _load_state_dict(self, state_dict)
        numbers = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        parameters = chain.from_iterable(group["params"] for group in self.param_groups)
        for number, p in zip(numbers, parameters, strict=True):
            for name, saved in state_dict["state"].get(number, {}).items():
                self.state[p][name] = self.state[p][name].to(saved.dtype)
                self.state[p][name].copy_(saved)


def buffers(optimizer: Optimizer, parameters: list[Tensor], name: str) -> list[Any]:
    """Buffers that the optimizer keeps for each parameter under this name; they start at zero."""
    for p in parameters:
        if name not in optimizer.state[p]:
            optimizer.state[p][name] = torch.zeros_like(p)
    return [optimizer.state[p][name] for p in parameters]

"""What our optimizers share."""

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


class Eager(Optimizer):
    """torch's base of optimizers without its ties to torch's compiler, which nothing here goes through.

    At their first call these methods would import it: 1.4 s and 90 MB for every process that trains.
    """

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    state_dict = inspect.unwrap(Optimizer.state_dict)
    load_state_dict = inspect.unwrap(Optimizer.load_state_dict)


def buffers(optimizer: Optimizer, parameters: list[Tensor], name: str) -> list[Any]:
    """What the optimizer keeps of each parameter under this name; it starts at zero."""
    for p in parameters:
        if name not in optimizer.state[p]:
            optimizer.state[p][name] = torch.zeros_like(p)
    return [optimizer.state[p][name] for p in parameters]

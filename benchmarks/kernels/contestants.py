"""Contestants that are timed in turns: a network of ``torch.nn``, ours by the fused kernels, ours by the reference.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from normcore import cells, norms, recurrent
from normcore.kernels import cpu
from normcore.norms.population import batch_norms
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS

IN_TORCH = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
GATES = {"lstm": 4, "gru": 3, "rnn": 1}


class Shape(NamedTuple):
    """Shape of the data of one call, and the number of hidden units."""

    steps: int
    batch: int
    inputs: int
    hidden: int

    def __str__(self) -> str:
        return ",".join(map(str, self))

    def products(self, cell: str, *, training: bool) -> float:
        """Floating-point operations of the matrix products alone. Training has no gradient of x."""
        forward = 2.0 * self.steps * self.batch * GATES[cell] * self.hidden * (self.inputs + self.hidden)
        back = 2.0 * self.steps * self.batch * GATES[cell] * self.hidden * (self.inputs + 2 * self.hidden)
        return forward + back if training else forward


@dataclass(frozen=True, slots=True)
class Contestant:
    """Network of one recurrent layer.

    Attributes:
        outputs: function from x (T, B, F) to h at every step (T, B, H).
        module: module that holds the parameters.
        ended: function that waits until a GPU has finished, as Python does not wait for it.
    """

    outputs: Callable[[Tensor], Tensor]
    module: nn.Module
    ended: Callable[[], None] = lambda: None

    def train(self, x: Tensor, grad: Tensor) -> None:
        """Compute the outputs for x, and the gradients of all parameters from the gradient of the outputs."""
        for parameter in self.module.parameters():
            parameter.grad = None
        torch.autograd.backward(self.outputs(x), grad)
        self.ended()

    @torch.no_grad()
    def evaluate(self, x: Tensor) -> None:
        self.outputs(x)
        self.ended()

    def kept(self, x: Tensor) -> int:
        """Bytes that a forward pass saves for the backward pass, without parameters and x."""
        known = {tensor.untyped_storage().data_ptr() for tensor in (x, *self.module.parameters())}
        seen: dict[int, int] = {}

        def pack(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in known:
                seen[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            outputs = self.outputs(x)
        del outputs
        return sum(seen.values())


def of_torch(cell: str, shape: Shape) -> Contestant:
    network = IN_TORCH[cell](shape.inputs, shape.hidden)
    return Contestant(lambda x: network(x)[0], network)


def fused(cell: str, method: str, shape: Shape) -> Contestant:
    return by(cpu.unroll, cell, method, shape)


def reference(cell: str, method: str, shape: Shape) -> Contestant:
    return by(recurrent.unroll, cell, method, shape)


def evaluated(contestant: Contestant, steps: int) -> Contestant:
    """Put the contestant into evaluation mode, and give its batch norms population statistics."""
    contestant.module.eval()
    for norm in batch_norms(contestant.module).values():
        known = norm.running_mean.new_zeros(steps, norm.running_mean.shape[1])
        norm.running_mean, norm.running_var = known, known + 1.0
    return contestant


def by(unroll: Callable[..., recurrent.UnrolledCell], cell: str, method: str, shape: Shape) -> Contestant:
    """Our network, whose steps are computed by the function ``unroll``."""
    options = CELLS[cell].model_validate({"hidden_size": shape.hidden})
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(CELLS[cell]), "method": method})
    built: Any = cells.build(options, shape.inputs, norms.build(norm))
    return Contestant(partial(_outputs, unroll, built), built)


def _outputs(unroll: Callable[..., recurrent.UnrolledCell], cell: Any, x: Tensor) -> Tensor:
    return unroll(cell, x, cell.initial_state(x.shape[1])).y

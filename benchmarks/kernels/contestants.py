"""Contestants that take turns: ``torch.nn``'s network of a cell, ours by the fused kernels, and ours by the reference.

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
    """Shape of one call."""

    steps: int
    batch: int
    inputs: int
    hidden: int

    def __str__(self) -> str:
        return ",".join(map(str, self))

    def products(self, cell: str, *, training: bool) -> float:
        """Floating-point operations of the products alone; no gradient of x is asked for."""
        forward = 2.0 * self.steps * self.batch * GATES[cell] * self.hidden * (self.inputs + self.hidden)
        back = 2.0 * self.steps * self.batch * GATES[cell] * self.hidden * (self.inputs + 2 * self.hidden)
        return forward + back if training else forward


@dataclass(frozen=True, slots=True)
class Contestant:
    """A network of one layer.

    Attributes:
        outputs: h at every step (T, B, H), from x (T, B, F).
        module: what holds its parameters.
        ended: waits until all is done: a GPU works on while Python goes on.
    """

    outputs: Callable[[Tensor], Tensor]
    module: nn.Module
    ended: Callable[[], None] = lambda: None

    def train(self, x: Tensor, grad: Tensor) -> None:
        """Outputs, and the gradients of all parameters from that of the outputs."""
        for parameter in self.module.parameters():
            parameter.grad = None
        torch.autograd.backward(self.outputs(x), grad)
        self.ended()

    @torch.no_grad()
    def evaluate(self, x: Tensor) -> None:
        self.outputs(x)
        self.ended()

    def kept(self, x: Tensor) -> int:
        """Bytes that a forward pass keeps for backward, parameters and x left out."""
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
    """The contestant in evaluation mode, its batch norms with statistics of a population."""
    contestant.module.eval()
    for norm in batch_norms(contestant.module).values():
        known = norm.running_mean.new_zeros(steps, norm.running_mean.shape[1])
        norm.running_mean, norm.running_var = known, known + 1.0
    return contestant


def by(unroll: Callable[..., recurrent.Unrolled], cell: str, method: str, shape: Shape) -> Contestant:
    """Our network, its sequence taken by ``unroll``."""
    options = CELLS[cell].model_validate({"hidden_size": shape.hidden})
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(CELLS[cell]), "method": method})
    built: Any = cells.build(options, shape.inputs, norms.build(norm))
    return Contestant(partial(_outputs, unroll, built), built)


def _outputs(unroll: Callable[..., recurrent.Unrolled], cell: Any, x: Tensor) -> Tensor:
    return unroll(cell, x, cell.initial_state(x.shape[1])).y

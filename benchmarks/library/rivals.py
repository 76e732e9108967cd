"""LSTMs of other libraries, where they are installed.

Both run a loop over time in Python on a CPU. Their kernels need CUDA.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from torch import Tensor, nn


class Haste(nn.Module):
    """``LayerNormLSTM`` of Haste, as ``pip install haste_pytorch_cpu`` brings it where there is no nvcc."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.layer: Any = import_module("haste_pytorch").LayerNormLSTM(inputs, hidden)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layer(x)[0]
        return y


class FlashRNN(nn.Module):
    """LSTM of FlashRNN, which has no norm, by its backend ``vanilla``."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.run: Any = import_module("flashrnn").flashrnn
        self.of_x = nn.Linear(inputs, 4 * hidden, bias=False)
        self.of_h = nn.Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.of_h.in_features
        terms = self.of_x(x).transpose(0, 1).reshape(x.shape[1], x.shape[0], 4, 1, hidden)
        weight, bias = self.of_h.weight.view(4, 1, hidden, hidden), self.of_h.bias.view(4, 1, hidden)
        states, _ = self.run(terms, weight, bias, function="lstm", backend="vanilla", dtype="float32")
        y: Tensor = states[0].squeeze(2).transpose(0, 1)
        return y


RIVALS: dict[str, tuple[str, Callable[[int, int], nn.Module]]] = {
    "haste": ("haste_pytorch", Haste),
    "flashrnn": ("flashrnn", FlashRNN),
}
"""Names of the columns, with the module that has to be there, and the class."""


def installed() -> dict[str, Callable[[int, int], nn.Module]]:
    return {name: build for name, (module, build) in RIVALS.items() if find_spec(module) is not None}

"""A cell whose weights and norms belong to another module.

The layers of ``normcore.nn`` keep their weights under torch's names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from normcore.cells.cell import RecurrentCell
from normcore.cells.gru import GRU
from normcore.cells.lstm import LSTM
from normcore.norms.normalization import BiasPlace, Identity

IDENTITY = Identity()


@dataclass(eq=False)
class CellView:
    """The equations of a kind of cell, over weights and norms that it borrows for one pass.

    Attributes:
        kind: class whose equations are computed.
        biases: torch's two biases (G H). The second is added to the first; in a GRU, it is the bias of the recurrent
            term. It is None in a layer without biases, whose first bias is 0.
    """

    kind: Any
    weight_ih: Tensor
    weight_hh: Tensor
    biases: tuple[Tensor, Tensor | None]
    bias_place: BiasPlace
    norms: Mapping[str, nn.Module]
    carries_normalized_cell: bool

    def __post_init__(self) -> None:
        self.norm_x = self.norms.get("norm_x", IDENTITY)
        self.norm_h = self.norms.get("norm_h", IDENTITY)
        self.norm_sum = self.norms.get("norm_sum", IDENTITY)
        self.norm_c = self.norms.get("norm_c", IDENTITY)
        self.normalizes_sum = "norm_sum" in self.norms
        self._bias: Tensor | None = None
        self.gate_rows = 2 * self.weight_hh.shape[1]

    @property
    def bias(self) -> Tensor:
        """The bias of the equations. It is added up once, and only if they need it: kernels take both summands."""
        if self._bias is None:
            first, second = self.biases
            self._bias = first if second is None or self.kind is GRU else first + second
        return self._bias

    @property
    def bias_hh(self) -> Tensor | None:
        return self.biases[1] if self.kind is GRU else None

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        yield from self.norms.items()

    def parameters(self) -> Iterator[Tensor]:
        yield from (self.weight_ih, self.weight_hh)
        yield from (bias for bias in self.biases if bias is not None)
        for norm in self.norms.values():
            yield from norm.parameters()

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        term: Tensor = self.kind.input_term(self, x, t, mask)
        return term

    def step(self, term: Tensor, state: Any, t: int) -> Any:
        return self.kind.step(self, term, state, t)

    normalized_input = RecurrentCell.normalized_input
    add_outer_bias = RecurrentCell.add_outer_bias
    summed_inputs = LSTM.summed_inputs

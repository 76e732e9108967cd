"""A cell whose weights and norms belong to another module.

The layers of ``normcore.nn`` keep their weights under torch's names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from normcore.cells.cell import RecurrentCell
from normcore.cells.lstm import LSTM
from normcore.norms.normalization import BiasPlace, Identity

IDENTITY = Identity()


@dataclass(eq=False)
class CellView:
    """The equations of a kind of cell, over weights and norms that it borrows for one pass.

    Attributes:
        kind: class whose equations are computed.
        bias_hh: bias of the recurrent term, which stands inside of the GRU's reset gate; None without one.
    """

    kind: Any
    weight_ih: Tensor
    weight_hh: Tensor
    bias: Tensor
    bias_hh: Tensor | None
    bias_place: BiasPlace
    norms: Mapping[str, nn.Module]
    carries_normalized_cell: bool

    def __post_init__(self) -> None:
        self.norm_x = self.norms.get("norm_x", IDENTITY)
        self.norm_h = self.norms.get("norm_h", IDENTITY)
        self.norm_sum = self.norms.get("norm_sum", IDENTITY)
        self.norm_c = self.norms.get("norm_c", IDENTITY)
        self.normalizes_sum = "norm_sum" in self.norms
        self.gate_rows = 2 * self.weight_hh.shape[1]

    def named_modules(self) -> Iterator[tuple[str, nn.Module]]:
        yield from self.norms.items()

    def parameters(self) -> Iterator[Tensor]:
        yield from (self.weight_ih, self.weight_hh, self.bias)
        if self.bias_hh is not None:
            yield self.bias_hh
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

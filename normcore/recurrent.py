"""A cell over time, layers and directions.

Shapes: T steps, B examples, F inputs, H hidden units, D directions (1 or 2).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from normcore import cells, norms
from normcore.cells import State
from normcore.initialization import RecurrentInit
from normcore.spec.model import CELLS
from normcore.spec.norm import METHODS, Method, NoNorm


class RecurrentState(NamedTuple):
    """All that is needed to go on where a sequence was left off.

    Attributes:
        cells: the state of every layer, the first layer first; of both directions, if there are two.
        t: the number of steps done, on which statistics per time step depend.
    """

    cells: tuple[State, ...]
    t: int


class Recurrent(nn.Module):
    """A recurrent network of one kind of cell and one normalization.

    Args:
        cell: tag of the cell: ``rnn``, ``lstm`` or ``gru``.
        bidirectional: whether every layer also reads backwards; the next layer sees both outputs side by side.
        norm: the normalization's options, or a mapping with at least its tag ``method``.
        kernel: ``reference``, or ``auto`` for the best there is; the attribute ``kernel`` says which one runs.
        forget_bias: initial bias of the forget gate, in cells that have one.

    Raises:
        ValueError: a tag or an option is unknown, or there is no such kernel.
    """

    def __init__(
        self,
        cell: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        norm: Method | Mapping[str, Any] | None = None,
        kernel: str = "reference",
        recurrent_init: RecurrentInit = "orthogonal",
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"expected a cell out of {', '.join(CELLS)}, received '{cell}'")
        normalization = norms.build(_options(norm, cell))
        if kernel not in ("auto", "reference"):
            raise ValueError(f"expected kernel auto or reference, received '{kernel}'; {cell} has no other kernel")
        self.kernel = "reference"
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.directions = 2 if bidirectional else 1
        self.initial_state_noise = normalization.initial_state_noise
        self.cells = nn.ModuleList()
        for layer in range(num_layers):
            size = hidden_size * self.directions if layer else input_size
            for _ in range(self.directions):
                built: Any = cells.build(cell, size, hidden_size, normalization, recurrent_init, forget_bias)
                self.cells.append(built)

    def forward(self, x: Tensor, state: RecurrentState | None = None) -> tuple[Tensor, RecurrentState]:
        """Run over a sequence, from its start or from where ``state`` left off.

        Args:
            x: (T, B, F).
            state: what an earlier call returned; None begins with the trained initial state, plus the
                normalization's noise on h, drawn anew from torch's global generator at every call.

        Returns:
            y (T, B, D H), the last layer's h at every step, and the state after the last step (for the backward
            direction: after having read down to the first).

        Raises:
            ValueError: shapes do not fit, or ``state`` is given to a bidirectional network.
        """
        self._check(x, state)
        t = state.t if state else 0
        last: list[State] = []
        for layer in range(0, len(self.cells), self.directions):
            outputs = []
            for direction in range(self.directions):
                cell: Any = self.cells[layer + direction]
                start = state.cells[layer] if state else self._initial_state(cell, x.shape[1])
                y, end = _unroll(cell, x.flip(0) if direction else x, start, t)
                outputs.append(y.flip(0) if direction else y)
                last.append(end)
            x = outputs[0] if self.directions == 1 else torch.cat(outputs, -1)
        return x, RecurrentState(tuple(last), t + len(x))

    def _initial_state(self, cell: Any, batch_size: int) -> State:
        state: State = cell.initial_state(batch_size)
        if self.initial_state_noise:
            state = state._replace(h=state.h + self.initial_state_noise * torch.randn_like(state.h))
        return state

    def _check(self, x: Tensor, state: RecurrentState | None) -> None:
        if x.dim() != 3 or len(x) == 0 or x.shape[2] != self.input_size:
            raise ValueError(
                f"expected x of shape (T, B, {self.input_size}) with T at least 1, received {tuple(x.shape)};"
                " time comes first"
            )
        if state is None:
            return
        if self.directions == 2:
            raise ValueError("expected no state for a bidirectional network, received one; pass the whole sequence")
        expected = (x.shape[1], self.hidden_size)
        received = [tuple(part.shape) for cell in state.cells for part in cell]
        if len(state.cells) != len(self.cells) or any(shape != expected for shape in received):
            raise ValueError(
                f"expected a state of {len(self.cells)} layers of shape {expected}, received {received};"
                " use the state of the same network and batch"
            )


def _options(norm: Method | Mapping[str, Any] | None, cell: str) -> Method:
    if norm is None:
        return NoNorm()
    if isinstance(norm, Method):
        return norm
    method = norm.get("method")
    if method not in METHODS:
        raise ValueError(f"expected norm.method out of {', '.join(METHODS)}, received '{method}'")
    return METHODS[method].model_validate({**METHODS[method].defaults(cell), **norm})


def _unroll(cell: Any, x: Tensor, state: State, t: int) -> tuple[Tensor, State]:
    """Step ``cell`` over x (T, B, F), the first step being number t."""
    y = []
    for step, term in enumerate(cell.input_term(x, t).unbind(0), t):
        state = cell.step(term, state, step)
        y.append(state.h)
    return torch.stack(y), state

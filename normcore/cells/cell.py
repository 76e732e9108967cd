"""Common parts of recurrent cells with one matrix W_x, one W_h and one bias b.

Shapes: T steps, B examples, F inputs, H hidden units, G summed inputs a unit.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from normcore.initialization import add_first_state, init_weights_, spread_bias_
from normcore.norms.normalization import Normalization, normalized_product
from normcore.spec.models.recurrent import RecurrentModel


class HiddenState(NamedTuple):
    """State of a cell that has nothing but h (B, H)."""

    h: Tensor


class RecurrentCell(nn.Module):
    """Weights, bias, first state and input term of a cell. A subclass adds its norms and its equations.

    The first state starts at zero, and is trained unless the options say otherwise. The method decides if b stands
    outside of the norms, inside of the first one, or in both places.

    Attributes:
        weight_ih: W_x (G H, F).
        weight_hh: W_h (G H, H).
        bias: b (G H).
        bias_hh: bias of the recurrent term, as ``torch.nn`` has it; None in cells of specs.
        norm_x: norm of W_x x.
    """

    h0: Tensor
    bias_hh: Tensor | None = None

    def __init__(
        self,
        options: RecurrentModel,
        input_size: int,
        norm: Normalization,
        *,
        blocks: tuple[int, ...] = (1,),
        identity: Collection[int] = (0,),
        bias: Sequence[float] | None = None,
    ) -> None:
        """Make the parameters and the norm of the input.

        Args:
            blocks: gates that share statistics in the norm of W_x x, as in ``Normalization.norm``; they add up to G.
            identity: gates whose block of W_h starts as the identity matrix, if the options ask for that.
            bias: initial bias of each gate, 0 by default.
        """
        super().__init__()
        hidden_size, gates = options.hidden_size, sum(blocks)
        self.bias_place = norm.bias
        self.weight_ih = nn.Parameter(torch.empty(gates * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(gates * hidden_size, hidden_size))
        init_weights_(self.weight_ih, self.weight_hh, options.recurrent_init, identity)
        first_bias = torch.zeros(gates, hidden_size)
        for gate, value in enumerate(bias or ()):
            first_bias[gate] = value
        self.bias = nn.Parameter(first_bias.flatten())
        spread_bias_(self.bias, norm.bias_init, options.recurrent_init, hidden_size)
        add_first_state(self, "h0", hidden_size, options.first_state)
        self.norm_x = norm.norm(hidden_size, "input", blocks=blocks)

    def initial_state(self, batch_size: int) -> HiddenState:
        return HiddenState(self.h0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        """Compute norm_x(W_x x) + b; a bias that stands inside is added before the norm: norm_x(W_x x + b)."""
        return self.add_outer_bias(self.normalized_input(x, t, mask))

    def normalized_input(self, x: Tensor, t: int, mask: Tensor | None) -> Tensor:
        """Compute norm_x(W_x x), or norm_x(W_x x + b) if b stands inside of the norm: (T, B, G H)."""
        inner = None if self.bias_place == "outside" else self.bias
        return normalized_product(self.norm_x, self.weight_ih, x, t, mask, inner)

    def add_outer_bias(self, a: Tensor) -> Tensor:
        """Return a + b, or a itself if b stands only inside of the norms."""
        return a if self.bias_place == "inside" else a + self.bias

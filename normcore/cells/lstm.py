"""Long short-term memory.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 4H are the gates i, f, g, o.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from normcore.cells.cell import RecurrentCell
from normcore.initialization import add_first_state
from normcore.norms.normalization import Identity, Normalization, Shift, normalized_product, normalized_sum
from normcore.spec.cells import lstm as spec


class LSTMState(NamedTuple):
    """State of an LSTM: h (B, H), and the cell c (B, H) that is carried to the next step. c is not normalized unless
    the method carries the normalized cell."""

    h: Tensor
    c: Tensor


class LSTM(RecurrentCell):
    """LSTM: i, f, g, o = norm_h(W_h h) + norm_x(W_x x) + b; c' = σ(f) c + σ(i) tanh(g); h' = σ(o) tanh(norm_c(c')).

    These are LN Eq. 20-22 (Ba et al. 2016, arXiv:1607.06450v1) and RBN Eq. 14-16 (Cooijmans et al. 2017,
    arXiv:1603.09025v5). The baseline without norms is LN Eq. 17-19 and RBN Eq. 6-8. With a layer norm of the cell
    alone, as in DRAW, it is LN Eq. 29-31. With the bias inside, the input's term is norm_x(W_x x + b). A method may
    normalize the sum of both terms instead, and may carry norm_c(c') to the next step.

    Biases start at zero. The forget gate's bias starts at ``forget_bias``, as in the code of Cooijmans et al.

    Deviations: the rows are in the order i, f, g, o of ``torch.nn.LSTM``; both papers print f, i, o, g.
    """

    c0: Tensor

    def __init__(self, options: spec.LSTM, input_size: int, norm: Normalization) -> None:
        identity = list(map("ifgo".index, options.identity_gates))
        bias = [0.0, options.forget_bias, 0.0, 0.0]
        super().__init__(options, input_size, norm, blocks=(4,), identity=identity, bias=bias)
        add_first_state(self, "c0", options.hidden_size, options.first_cell)
        self.norm_h = norm.norm(options.hidden_size, "recurrent", blocks=(4,))
        self.norm_sum = norm.norm(options.hidden_size, "sum", blocks=(4,))
        self.norm_c = norm.norm(options.hidden_size, "cell")
        if isinstance(self.norm_c, Shift) and not options.cell_bias:
            self.norm_c = Identity()
        self.normalizes_sum = not isinstance(self.norm_sum, Identity)
        self.carries_normalized_cell = norm.carries_normalized_cell

    def initial_state(self, batch_size: int) -> LSTMState:  # type: ignore[override]
        return LSTMState(self.h0.expand(batch_size, -1), self.c0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        a = self.normalized_input(x, t, mask)  # (T, B, 4H)
        return a if self.normalizes_sum else self.add_outer_bias(a)

    def summed_inputs(self, term: Tensor, h: Tensor, t: int) -> Tensor:
        """Compute norm_h(W_h h) + norm_x(W_x x) + b, or the norm of the sum plus b: (B, 4H)."""
        a = term + normalized_product(self.norm_h, self.weight_hh, h, t)  # Eq. 20, 14
        if not self.normalizes_sum:
            return a
        return self.add_outer_bias(normalized_sum(self.norm_sum, a, self.weight_hh, h, t))

    def step(self, term: Tensor, state: LSTMState, t: int) -> LSTMState:
        i, f, g, o = self.summed_inputs(term, state.h, t).chunk(4, 1)
        c = torch.addcmul(f.sigmoid() * state.c, i.sigmoid(), g.tanh())  # Eq. 21, 15
        read = self.norm_c(c, t)
        h = o.sigmoid() * read.tanh()  # Eq. 22, 16
        return LSTMState(h, read if self.carries_normalized_cell else c)

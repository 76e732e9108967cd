"""Long short-term memory.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 4H are the gates i, f, g, o.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.initialization import add_first_state, init_weights_, spread_bias_
from normcore.norms.normalization import Identity, Normalization, Shift, size_of_products
from normcore.spec.cells import lstm as spec


class LSTMState(NamedTuple):
    """h (B, H), and the cell c (B, H) as it is carried, not normalized."""

    h: Tensor
    c: Tensor


class LSTM(nn.Module):
    """i, f, g, o = norm_h(W_h h) + norm_x(W_x x) + b; c' = σ(f) c + σ(i) tanh(g); h' = σ(o) tanh(norm_c(c')).

    LN Eq. 20-22 (Ba et al. 2016, arXiv:1607.06450v1) and RBN Eq. 14-16 (Cooijmans et al. 2017, arXiv:1603.09025v5),
    of which LN Eq. 17-19 and RBN Eq. 6-8 are the baseline; with a layer norm of the cell alone, LN Eq. 29-31, which
    DRAW has. With the bias inside, the input's term is norm_x(W_x x + b). A method may
    normalize the sum of both terms instead, and carry norm_c(c') on.

    The first state starts at zero, and is trained unless the options say otherwise. Biases start at zero, the forget
    gate's at ``forget_bias``, as in the code of Cooijmans et al.

    Deviations: the rows are in the order of ``torch.nn.LSTM``; both papers print f, i, o, g.
    """

    h0: Tensor
    c0: Tensor

    def __init__(self, options: spec.LSTM, input_size: int, norm: Normalization) -> None:
        super().__init__()
        hidden_size = options.hidden_size
        self.bias_place = norm.bias
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        identity = list(map("ifgo".index, options.identity_gates))
        init_weights_(self.weight_ih, self.weight_hh, options.recurrent_init, identity)
        bias = torch.zeros(4, hidden_size)
        bias[1] = options.forget_bias
        self.bias = nn.Parameter(bias.flatten())
        spread_bias_(self.bias, norm.bias_init, options.recurrent_init, hidden_size)
        add_first_state(self, "h0", hidden_size, options.first_state)
        add_first_state(self, "c0", hidden_size, options.first_cell)
        self.norm_x = norm.norm(hidden_size, "input", blocks=(4,))
        self.norm_h = norm.norm(hidden_size, "recurrent", blocks=(4,))
        self.norm_sum = norm.norm(hidden_size, "sum", blocks=(4,))
        self.norm_c = norm.norm(hidden_size, "cell")
        if isinstance(self.norm_c, Shift) and not options.cell_bias:
            self.norm_c = Identity()
        self.normalizes_sum = not isinstance(self.norm_sum, Identity)
        self.carries_normalized_cell = norm.carries_normalized_cell
        norm.parametrize(self, "weight_ih", "weight_hh")

    def initial_state(self, batch_size: int) -> LSTMState:
        return LSTMState(self.h0.expand(batch_size, -1), self.c0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        mapped = functional.linear(x, self.weight_ih, None if self.bias_place == "outside" else self.bias)
        a: Tensor = self.norm_x(mapped, t, mask, size_of_products(self.weight_ih, x))  # (T, B, 4H)
        return a if self.normalizes_sum else self._with_outer_bias(a)

    def step(self, term: Tensor, state: LSTMState, t: int) -> LSTMState:
        size = size_of_products(self.weight_hh, state.h)
        a = term + self.norm_h(functional.linear(state.h, self.weight_hh), t, size=size)  # Eq. 20, 14: (B, 4H)
        if self.normalizes_sum:
            a = self._with_outer_bias(self.norm_sum(a, t, size=size))
        i, f, g, o = a.chunk(4, 1)
        c = torch.addcmul(f.sigmoid() * state.c, i.sigmoid(), g.tanh())  # Eq. 21, 15
        read = self.norm_c(c, t)
        h = o.sigmoid() * read.tanh()  # Eq. 22, 16
        return LSTMState(h, read if self.carries_normalized_cell else c)

    def _with_outer_bias(self, a: Tensor) -> Tensor:
        return a if self.bias_place == "inside" else a + self.bias

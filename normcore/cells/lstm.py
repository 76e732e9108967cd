"""Long short-term memory.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 4H are the gates i, f, g, o.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.initialization import RecurrentInit, init_recurrent_
from normcore.norms import Normalization


class LSTMState(NamedTuple):
    """h (B, H), and the cell c (B, H) as it is carried, not normalized."""

    h: Tensor
    c: Tensor


class LSTM(nn.Module):
    """i, f, g, o = norm_h(W_h h) + norm_x(W_x x) + b; c' = σ(f) c + σ(i) tanh(g); h' = σ(o) tanh(norm_c(c')).

    Ba et al. 2016, arXiv:1607.06450v1, Eq. 20-22; Cooijmans et al. 2017, arXiv:1603.09025v5, Eq. 14-16, of which
    Eq. 6-8 are the baseline. With the bias inside, the input's term is norm_x(W_x x + b).

    The first state is trained; it starts at zero. Biases start at zero, the forget gate's at ``forget_bias``, as in
    the code of Cooijmans et al.

    Deviations: the rows are in the order of ``torch.nn.LSTM``; both papers print f, i, o, g.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        norm: Normalization,
        recurrent_init: RecurrentInit = "orthogonal",
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__()
        self.bias_place = norm.bias
        self.weight_ih = nn.Parameter(nn.init.orthogonal_(torch.empty(4 * hidden_size, input_size)))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        init_recurrent_(self.weight_hh, recurrent_init, candidate=2)
        bias = torch.zeros(4, hidden_size)
        bias[1] = forget_bias
        self.bias = nn.Parameter(bias.flatten())
        self.h0 = nn.Parameter(torch.zeros(hidden_size))
        self.c0 = nn.Parameter(torch.zeros(hidden_size))
        self.norm_x = norm.norm(4 * hidden_size, "input")
        self.norm_h = norm.norm(4 * hidden_size, "recurrent")
        self.norm_c = norm.norm(hidden_size, "cell")

    def initial_state(self, batch_size: int) -> LSTMState:
        return LSTMState(self.h0.expand(batch_size, -1), self.c0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int) -> Tensor:
        mapped = functional.linear(x, self.weight_ih, None if self.bias_place == "outside" else self.bias)
        a: Tensor = self.norm_x(mapped, t)  # (T, B, 4H)
        return a if self.bias_place == "inside" else a + self.bias

    def step(self, term: Tensor, state: LSTMState, t: int) -> LSTMState:
        a = term + self.norm_h(functional.linear(state.h, self.weight_hh), t)  # Eq. 20, 14: (B, 4H)
        i, f, g, o = a.chunk(4, 1)
        c = torch.addcmul(f.sigmoid() * state.c, i.sigmoid(), g.tanh())  # Eq. 21, 15
        return LSTMState(o.sigmoid() * self.norm_c(c, t).tanh(), c)  # Eq. 22, 16

"""The recurrent network of one tanh layer.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.initialization import add_first_state, init_weights_, spread_bias_
from normcore.norms.normalization import Normalization, size_of_products
from normcore.spec.cells import rnn as spec


class RNNState(NamedTuple):
    """h (B, H)."""

    h: Tensor


class RNN(nn.Module):
    """h' = tanh(norm(W_h h + W_x x) + b).

    One norm for the sum of both terms: LN Eq. 4 (Ba et al. 2016, arXiv:1607.06450v1), of which RBN Eq. 1 (Cooijmans et
    al. 2017, arXiv:1603.09025v5) is the baseline. With the bias inside, h' = tanh(norm(W_h h + W_x x + b)). A method
    may normalize the terms by themselves instead.

    The first state starts at zero, and is trained unless the options say otherwise.
    """

    h0: Tensor

    def __init__(self, options: spec.RNN, input_size: int, norm: Normalization) -> None:
        super().__init__()
        hidden_size = options.hidden_size
        self.bias_place = norm.bias
        self.weight_ih = nn.Parameter(torch.empty(hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(hidden_size, hidden_size))
        init_weights_(self.weight_ih, self.weight_hh, options.recurrent_init, (0,))
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        spread_bias_(self.bias, norm.bias_init, options.recurrent_init, hidden_size)
        add_first_state(self, "h0", hidden_size, options.first_state)
        self.norm_x = norm.norm(hidden_size, "input")
        self.norm_h = norm.norm(hidden_size, "recurrent")
        self.norm_sum = norm.norm(hidden_size, "sum")
        norm.parametrize(self, "weight_ih", "weight_hh")

    def initial_state(self, batch_size: int) -> RNNState:
        return RNNState(self.h0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        mapped = functional.linear(x, self.weight_ih, None if self.bias_place == "outside" else self.bias)
        a: Tensor = self.norm_x(mapped, t, mask, size_of_products(self.weight_ih, x))  # (T, B, H)
        return a

    def step(self, term: Tensor, state: RNNState, t: int) -> RNNState:
        size = size_of_products(self.weight_hh, state.h)
        a_h = self.norm_h(functional.linear(state.h, self.weight_hh), t, size=size)
        a = self.norm_sum(term + a_h, t, size=size)  # (B, H)
        return RNNState(torch.tanh(a if self.bias_place == "inside" else a + self.bias))

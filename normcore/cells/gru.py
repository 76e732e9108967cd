"""The gated recurrent unit.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 3H are the gates r, z and the candidate n.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.initialization import add_first_state, init_weights_, spread_bias_
from normcore.norms.normalization import Normalization, size_of_products
from normcore.spec.cells import gru as spec


class GRUState(NamedTuple):
    """h (B, H)."""

    h: Tensor


class GRU(nn.Module):
    """h' = σ(z) h + (1 - σ(z)) n, with r, z = norm_h(W_h h) + norm_x(W_x x) + b and
    n = tanh(norm_x(W x) + b + σ(r) norm_h(U h)).

    LN Eq. 26-28 (Ba et al. 2016, arXiv:1607.06450v1), of which LN Eq. 23-25 are the baseline: the two gates are
    normalized together, the candidate by itself. With the bias inside, as in their code, the input's terms are
    norm_x(W_x x + b).

    The first state and the biases start at zero; all are trained unless the options say otherwise.

    Deviations: z keeps the old state, as in the authors' code (the paper has the complement); there are biases, as in
    the code; one for the candidate, outside the reset gate, where ``torch.nn.GRU`` has a second one inside.
    """

    h0: Tensor

    def __init__(self, options: spec.GRU, input_size: int, norm: Normalization) -> None:
        super().__init__()
        hidden_size = options.hidden_size
        self.bias_place = norm.bias
        self.gate_rows = 2 * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        identity = list(map("rzn".index, options.identity_gates))
        init_weights_(self.weight_ih, self.weight_hh, options.recurrent_init, identity)
        self.bias = nn.Parameter(torch.zeros(3 * hidden_size))
        spread_bias_(self.bias, norm.bias_init, options.recurrent_init, hidden_size)
        add_first_state(self, "h0", hidden_size, options.first_state)
        self.norm_x = norm.norm(hidden_size, "input", blocks=(2, 1))
        self.norm_h = norm.norm(hidden_size, "recurrent", blocks=(2, 1))
        norm.parametrize(self, "weight_ih", "weight_hh")

    def initial_state(self, batch_size: int) -> GRUState:
        return GRUState(self.h0.expand(batch_size, -1))

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        mapped = functional.linear(x, self.weight_ih, None if self.bias_place == "outside" else self.bias)
        a: Tensor = self.norm_x(mapped, t, mask, size_of_products(self.weight_ih, x))  # (T, B, 3H)
        return a if self.bias_place == "inside" else a + self.bias

    def step(self, term: Tensor, state: GRUState, t: int) -> GRUState:
        gates_x, candidate_x = term.tensor_split([self.gate_rows], 1)
        size = size_of_products(self.weight_hh, state.h)
        a_h = self.norm_h(functional.linear(state.h, self.weight_hh), t, size=size)  # (B, 3H)
        gates_h, candidate_h = a_h.tensor_split([self.gate_rows], 1)
        r, z = (gates_x + gates_h).sigmoid().chunk(2, 1)  # Eq. 26
        n = torch.addcmul(candidate_x, r, candidate_h).tanh()  # Eq. 27
        return GRUState(n + z * (state.h - n))  # Eq. 28: z h + (1 - z) n

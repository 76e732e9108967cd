"""The gated recurrent unit.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 3H are the gates r, z and the candidate n.
"""

import torch
from torch import Tensor

from normcore.cells.cell import HiddenState, RecurrentCell
from normcore.norms.normalization import Normalization, normalized_product
from normcore.spec.cells import gru as spec


class GRU(RecurrentCell):
    """h' = σ(z) h + (1 - σ(z)) n, with r, z = norm_h(W_h h) + norm_x(W_x x) + b and
    n = tanh(norm_x(W x) + b + σ(r) norm_h(U h)).

    LN Eq. 26-28 (Ba et al. 2016, arXiv:1607.06450v1), of which LN Eq. 23-25 are the baseline: the two gates are
    normalized together, the candidate by itself. With the bias inside, as in their code, the input's terms are
    norm_x(W_x x + b).

    The biases start at zero.

    Deviations: z keeps the old state, as in the authors' code (the paper has the complement); there are biases, as in
    the code; one for the candidate, outside the reset gate, where ``torch.nn.GRU`` has a second one inside.
    """

    def __init__(self, options: spec.GRU, input_size: int, norm: Normalization) -> None:
        identity = list(map("rzn".index, options.identity_gates))
        super().__init__(options, input_size, norm, blocks=(2, 1), identity=identity)
        self.gate_rows = 2 * options.hidden_size
        self.norm_h = norm.norm(options.hidden_size, "recurrent", blocks=(2, 1))

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        gates_x, candidate_x = term.tensor_split([self.gate_rows], 1)
        a_h = normalized_product(self.norm_h, self.weight_hh, state.h, t)  # (B, 3H)
        gates_h, candidate_h = a_h.tensor_split([self.gate_rows], 1)
        r, z = (gates_x + gates_h).sigmoid().chunk(2, 1)  # Eq. 26
        n = torch.addcmul(candidate_x, r, candidate_h).tanh()  # Eq. 27
        return HiddenState(n + z * (state.h - n))  # Eq. 28: z h + (1 - z) n

"""The gated recurrent unit.

Shapes: T steps, B examples, F inputs, H hidden units; the rows of 3H are the gates r, z and the candidate n.
"""

import torch
from torch import Tensor

from normcore.cells.cell import HiddenState, RecurrentCell
from normcore.norms.normalization import Normalization, normalized_product
from normcore.spec.cells import gru as spec


class GRU(RecurrentCell):
    """Gated recurrent unit:

        h' = σ(z) h + (1 - σ(z)) n
        r, z = norm_h(W_h h) + norm_x(W_x x) + b
        n = tanh(norm_x(W x) + b + σ(r) norm_h(U h))

    These are LN Eq. 26-28 (Ba et al. 2016, arXiv:1607.06450v1); the baseline without norms is LN Eq. 23-25. The gates
    r and z are normalized together, the candidate n by itself. With the bias inside, as in the authors' code, the
    input's terms are norm_x(W_x x + b).

    The biases start at zero.

    Deviations: σ(z) is the weight of the old state, as in the authors' code (in the paper it is the weight of the
    candidate). There are biases, as in the code. The candidate has one bias, outside the reset gate; with ``bias_hh``
    it has a second bias inside, as in ``torch.nn.GRU``.
    """

    def __init__(self, options: spec.GRU, input_size: int, norm: Normalization) -> None:
        identity = list(map("rzn".index, options.identity_gates))
        super().__init__(options, input_size, norm, blocks=(2, 1), identity=identity)
        self.gate_rows = 2 * options.hidden_size
        self.norm_h = norm.norm(options.hidden_size, "recurrent", blocks=(2, 1))

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        gates_x, candidate_x = term.tensor_split([self.gate_rows], 1)
        a_h = normalized_product(self.norm_h, self.weight_hh, state.h, t)  # (B, 3H)
        if self.bias_hh is not None:
            a_h = a_h + self.bias_hh
        gates_h, candidate_h = a_h.tensor_split([self.gate_rows], 1)
        r, z = (gates_x + gates_h).sigmoid().chunk(2, 1)  # Eq. 26
        n = torch.addcmul(candidate_x, r, candidate_h).tanh()  # Eq. 27
        return HiddenState(n + z * (state.h - n))  # Eq. 28: z h + (1 - z) n

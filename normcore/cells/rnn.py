"""The simple recurrent network, one tanh layer.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

import torch
from torch import Tensor

from normcore.cells.cell import HiddenState, RecurrentCell
from normcore.norms.normalization import Normalization, normalized_product, normalized_sum
from normcore.spec.cells import rnn as spec


class RNN(RecurrentCell):
    """Simple recurrent network: h' = tanh(norm(W_h h + W_x x) + b).

    One norm acts on the sum of both terms: LN Eq. 4 (Ba et al. 2016, arXiv:1607.06450v1). The baseline without norm is
    RBN Eq. 1 (Cooijmans et al. 2017, arXiv:1603.09025v5). With the bias inside, h' = tanh(norm(W_h h + W_x x + b)). A
    method may normalize each of the two terms by itself instead.
    """

    def __init__(self, options: spec.RNN, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.norm_h = norm.norm(options.hidden_size, "recurrent")
        self.norm_sum = norm.norm(options.hidden_size, "sum")

    def input_term(self, x: Tensor, t: int, mask: Tensor | None = None) -> Tensor:
        return self.normalized_input(x, t, mask)

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        a_h = normalized_product(self.norm_h, self.weight_hh, state.h, t)
        a = normalized_sum(self.norm_sum, term + a_h, self.weight_hh, state.h, t)  # (B, H)
        return HiddenState(torch.tanh(self.add_outer_bias(a)))

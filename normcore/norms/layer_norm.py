"""Layer normalization: Ba, Kiros, Hinton 2016, arXiv:1607.06450v1.

Shapes: T steps, B examples, F features.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.norms import BiasPlace, Site
from normcore.spec import norm as spec


class LayerNorm:
    """LN at every site: Eq. 4 for the RNN, Eq. 20-22 for the LSTM, Eq. 26-28 for the GRU.

    Every norm has a gain and a shift (Eq. 15), except that the RNN's has the gain alone: the b of Eq. 4 is the
    cell's own bias.

    Deviations: the gain starts at 1 and the shift at 0, as in the authors' code; the appendix prints the two the
    other way round.
    """

    initial_state_noise = 0.0

    def __init__(self, options: spec.LayerNorm) -> None:
        self.bias: BiasPlace = options.bias
        self.options = options

    def norm(self, size: int, site: Site) -> nn.Module:
        return LayerNormAtSite(size, self.options.gain_init, self.options.eps, shift=site != "sum")


class LayerNormAtSite(nn.Module):
    """weight (a - mean) / sqrt(var + eps) + bias, with mean and biased variance over the F features of one example.

    The Theano code of the authors has eps inside the root, their Torch code outside.
    """

    def __init__(self, size: int, gain_init: float, eps: float, shift: bool) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.full((size,), gain_init))
        self.bias = nn.Parameter(torch.zeros(size)) if shift else None

    def forward(self, a: Tensor, t: int) -> Tensor:
        return functional.layer_norm(a, self.weight.shape, self.weight, self.bias, self.eps)

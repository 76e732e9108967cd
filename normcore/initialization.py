"""Initial weights W_x (G H, F) and W_h (G H, H) and biases (G H) of G gates, stacked gate by gate.

All random numbers come from torch's global generator.
"""

import math
from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

RecurrentInit = Literal["orthogonal", "identity", "uniform"]


def init_weights_(weight_ih: Tensor, weight_hh: Tensor, how: RecurrentInit, identity: Collection[int]) -> None:
    """Fill both matrices in place.

    ``orthogonal`` makes the whole stacked matrix orthogonal, not each gate's block (the code of Cooijmans et al. 2017).
    ``identity`` puts the identity into those blocks of W_h and one orthogonal matrix into the others together. The
    authors' code for pixels has the identity in the candidate's block only; RBN section 5.1 says all of W_h.
    ``uniform`` draws from -1 / sqrt(H) to 1 / sqrt(H), as ``torch.nn`` does.
    """
    if how == "uniform":
        bound = _uniform_bound(weight_hh.shape[1])
        for weight in (weight_ih, weight_hh):
            nn.init.uniform_(weight, -bound, bound)
        return
    nn.init.orthogonal_(weight_ih)
    if how == "orthogonal":
        nn.init.orthogonal_(weight_hh)
    else:
        _init_identity_(weight_hh, identity)


def _init_identity_(weight_hh: Tensor, identity: Collection[int]) -> None:
    size = weight_hh.shape[1]
    blocks = weight_hh.detach().view(-1, size, size)
    others = [block for block in range(len(blocks)) if block not in identity]
    orthogonal = nn.init.orthogonal_(torch.empty(len(others) * size, size)).view(-1, size, size)
    for block in identity:
        blocks[block] = torch.eye(size)
    for block, values in zip(others, orthogonal, strict=True):
        blocks[block] = values


def spread_bias_(bias: Tensor, half_width: float, how: RecurrentInit, hidden_size: int) -> None:
    """Add uniform values from -half_width to half_width and, if ``how`` is ``uniform``, the sum of torch's two biases.

    A width of 0 leaves the generator alone.
    """
    torchs = 2 * [_uniform_bound(hidden_size)] if how == "uniform" else []
    with torch.no_grad():
        for width in [half_width, *torchs]:
            if width:
                bias += torch.empty_like(bias).uniform_(-width, width)


def _uniform_bound(hidden_size: int) -> float:
    return 1 / math.sqrt(hidden_size)

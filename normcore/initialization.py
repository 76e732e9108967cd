"""Initial weights W_x (G H, F) and W_h (G H, H) and biases (G H) of a cell with F inputs, H units and G stacked gates.

All random numbers come from torch's global generator.
"""

import math
from collections.abc import Collection
from typing import Literal

import torch
from torch import Tensor, nn

RecurrentInit = Literal["orthogonal", "identity", "uniform", "orthogonal_blocks", "scaled_blocks", "normal"]


def init_weights_(weight_ih: Tensor, weight_hh: Tensor, how: RecurrentInit, identity: Collection[int]) -> None:
    """Fill W_x (``weight_ih``) and W_h (``weight_hh``) in place, by the rule ``how``.

    ``orthogonal`` makes each stacked matrix orthogonal, not each gate's block (the code of Cooijmans et al. 2017).
    ``identity`` puts the identity into the blocks of W_h that the argument ``identity`` lists, and one orthogonal
    matrix into the other blocks together. The RBN authors' code for pixels has the identity in the candidate's block
    only; RBN section 5.1 says all of W_h. ``uniform`` draws from -1 / sqrt(H) to 1 / sqrt(H), as ``torch.nn`` does.
    ``orthogonal_blocks`` makes each gate's block of W_h orthogonal and draws W_x from -0.1 to 0.1 (Kiros et al. 2015,
    skip-thoughts). ``scaled_blocks`` fills each block of W_x and W_h by ``init_scaled_block_`` (the RBN authors'
    reader). ``normal`` draws with a standard deviation of 0.01.
    """
    weights = (weight_ih, weight_hh)
    size = weight_hh.shape[1]
    match how:
        case "orthogonal":
            for weight in weights:
                nn.init.orthogonal_(weight)
        case "identity":
            nn.init.orthogonal_(weight_ih)
            _init_identity_(weight_hh, identity)
        case "uniform":
            bound = _uniform_bound(size)
            for weight in weights:
                nn.init.uniform_(weight, -bound, bound)
        case "orthogonal_blocks":
            nn.init.uniform_(weight_ih, -0.1, 0.1)
            for block in weight_hh.chunk(len(weight_hh) // size):
                nn.init.orthogonal_(block)
        case "scaled_blocks":
            for weight in weights:
                for block in weight.chunk(len(weight) // size):
                    init_scaled_block_(block)
        case "normal":
            for weight in weights:
                nn.init.normal_(weight, std=0.01)


def init_scaled_block_(block: Tensor) -> None:
    """Fill a block (m, n) in place: 0.05 times an orthogonal matrix if m = n, else uniform in
    +-sqrt(6 / (m + n + 1))."""
    rows, columns = block.shape
    if rows == columns:
        nn.init.orthogonal_(block, gain=0.05)
    else:
        bound = math.sqrt(6 / (rows + columns + 1))
        nn.init.uniform_(block, -bound, bound)


def add_first_state(cell: nn.Module, name: str, hidden_size: int, how: Literal["trained", "zeros"]) -> None:
    """Add to a cell the first value of a part of its state (H): zeros, which are trained if ``how`` is ``trained``."""
    if how == "trained":
        cell.register_parameter(name, nn.Parameter(torch.zeros(hidden_size)))
    else:
        cell.register_buffer(name, torch.zeros(hidden_size), persistent=False)


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
    """Add uniform values from -half_width to half_width to ``bias``, in place. If ``how`` is ``uniform``, also add the
    sum of torch's two biases.

    For a ``half_width`` of 0 no random numbers are drawn.
    """
    torchs = 2 * [_uniform_bound(hidden_size)] if how == "uniform" else []
    with torch.no_grad():
        for width in [half_width, *torchs]:
            if width:
                bias += torch.empty_like(bias).uniform_(-width, width)


def _uniform_bound(hidden_size: int) -> float:
    return 1 / math.sqrt(hidden_size)

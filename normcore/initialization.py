"""Initial recurrent weights, stacked gate by gate: G blocks of H rows each, (G H, H)."""

from typing import Literal

import torch
from torch import Tensor, nn

RecurrentInit = Literal["orthogonal", "identity"]


def init_recurrent_(weight: Tensor, how: RecurrentInit, candidate: int) -> None:
    """Fill ``weight`` (G H, H) in place, from torch's global generator.

    ``orthogonal`` makes the whole matrix orthogonal, no gate's block by itself (the code of Cooijmans et al. 2017).
    ``identity`` puts the identity into block ``candidate`` and one orthogonal matrix into the others together; what
    they ran on pixels, where the text (section 4) has the identity alone.
    """
    if how == "orthogonal":
        nn.init.orthogonal_(weight)
        return
    size = weight.shape[1]
    others = nn.init.orthogonal_(torch.empty(weight.shape[0] - size, size))
    first, last = candidate * size, (candidate + 1) * size
    with torch.no_grad():
        weight[first:last] = torch.eye(size)
        weight[:first], weight[last:] = others[:first], others[first:]

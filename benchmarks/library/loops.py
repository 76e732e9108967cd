"""Layer-normalized LSTMs as people write them: ``nn.Linear`` and ``nn.LayerNorm`` in a loop over time.

Shapes: T steps, B examples, F inputs, H hidden units.
"""

from typing import Any

import torch
from torch import Tensor, nn


class LoopCell(nn.Module):
    """One step of LN Eq. 20-22 (Ba et al. 2016, arXiv:1607.06450v1)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.of_x = nn.Linear(inputs, 4 * hidden, bias=False)
        self.of_h = nn.Linear(hidden, 4 * hidden)
        self.norm_x = nn.LayerNorm(4 * hidden)
        self.norm_h = nn.LayerNorm(4 * hidden)
        self.norm_c = nn.LayerNorm(hidden)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = (self.norm_x(self.of_x(x)) + self.norm_h(self.of_h(h))).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * self.norm_c(c).tanh(), c


class Loop(nn.Module):
    """Loop of a cell over x (T, B, F)."""

    def __init__(self, cell: nn.Module, hidden: int) -> None:
        super().__init__()
        self.cell = cell
        self.hidden = hidden

    def forward(self, x: Tensor) -> Tensor:
        h = c = torch.zeros(x.shape[1], self.hidden, dtype=x.dtype, device=x.device)
        y = []
        for x_t in x.unbind(0):
            h, c = self.cell(x_t, h, c)
            y.append(h)
        return torch.stack(y)


def loop(inputs: int, hidden: int) -> nn.Module:
    return Loop(LoopCell(inputs, hidden), hidden)


def compiled(inputs: int, hidden: int) -> nn.Module:
    """Compile the cell: a graph of the whole loop would have a copy of the cell for each step."""
    cell: Any = torch.compile(LoopCell(inputs, hidden))
    return Loop(cell, hidden)


def scripted(inputs: int, hidden: int) -> nn.Module:
    module: nn.Module = torch.jit.script(loop(inputs, hidden))
    return module

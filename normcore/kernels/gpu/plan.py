"""Plan of a pass: its computations, and how its kernels are cut into tiles.

Shapes: T steps, B examples, H hidden units, G gates, L lines of a norm.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normcore.kernels.cell_layout import NormKind

OVER_FEATURES = {NormKind.LAYER_NORM, NormKind.RMS_NORM}
HIDDEN_ON_CHIP = 64  # units up to which what a program needs fits into registers
HIDDEN_OF_FACTORS = {torch.float32: {1: 128}, torch.bfloat16: {1: 256, 3: 128, 4: 128}}
"""The same, of cells of so many gates, where lines are over features. A GRU of 128 in float32 would fit on an H100; one
of 100 units took 53 ms there in one kernel, and batch-normalized, by a kernel a step, 24."""
BATCH_ON_CHIP = 64  # examples up to which one program has them all, where statistics are over them
BATCH_IN_BFLOAT16 = {1: 64, 3: 32, 4: 32}  # with more, what tensor cores hand out does not fit into registers
ROWS_OF_PRODUCT = 16  # the least number of rows and columns that a product in Triton has
UNITS_OF_A_WARP = 8  # for each 32 threads of a program that keeps W_h: with fewer threads, registers do not suffice
LANES_OF_A_WARP = 256  # numbers of a gate's tile for each 32 threads


@dataclass(slots=True)
class Place:
    """A place of a cell where a norm may stand.

    Attributes:
        population: (T, 2, G, H), means and factors 1 / sqrt(var + eps) of each step, where those are used.
        statistics: (T, 2 or 3, G, L), what was measured: means, the same factors and, of batch norm, variances.
    """

    kind: NormKind
    eps: float
    population: Tensor | None
    statistics: Tensor | None = None

    def make_room(self, steps: int, gates: int, batch: int, hidden: int, like: Tensor) -> None:
        """Make room for statistics."""
        if self.kind is NormKind.POPULATION:
            self.statistics = self.population
        elif self.kind is not NormKind.NONE:
            lines = batch if self.kind in OVER_FEATURES else hidden
            which = 3 if self.kind is NormKind.BATCH_NORM else 2
            self.statistics = like.new_empty(steps, which, gates, lines)


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a pass.

    Attributes:
        together: whether the input's term is added to the recurrent one before anything else.
        joint: whether the gates that the paper takes together are normalized together.
        factors: the precision of what is multiplied by W_h, and of W_h.
        mask: (T, B) of uint8, 0 where an example has no such step; None if all have it.
        keeps: whether gradients may be asked for.
        memory: bytes of shared memory that a block of the device may have.
    """

    gates: int
    sums: Place
    cell: Place
    together: bool
    joint: bool
    carries_normalized: bool
    factors: torch.dtype
    mask: Tensor | None
    keeps: bool
    memory: int

    def over(self, mask: Tensor | None, of_sums: Tensor | None, of_cell: Tensor | None) -> "Plan":
        """Copy of the plan with other tensors: the mask, and the statistics of both sites."""
        sums = replace(self.sums, population=None, statistics=of_sums)
        return replace(self, mask=mask, sums=sums, cell=replace(self.cell, population=None, statistics=of_cell))

    def meant_for_both(self, hidden: int) -> dict[str, Any]:
        """Constants that the kernels of both passes are compiled with."""
        return {
            "H": hidden,
            "G": self.gates,
            "KIND_SUMS": int(self.sums.kind),
            "KIND_CELL": int(self.cell.kind),
            "JOINT": self.joint,
            "CARRIES": self.carries_normalized,
        }

    def meant_for_forward(self, hidden: int) -> dict[str, Any]:
        """Constants that the kernels of the forward pass are compiled with."""
        return {
            **self.meant_for_both(hidden),
            "EPS_SUMS": self.sums.eps,
            "EPS_CELL": self.cell.eps,
            "LAST_PLACE": torch.finfo(self.factors).eps,
        }

    def make_room(self, steps: int, batch: int, hidden: int, like: Tensor) -> None:
        """Allocate the statistics."""
        self.sums.make_room(steps, self.gates, batch, hidden, like)
        self.cell.make_room(steps, 1, batch, hidden, like)

    def fits_on_chip(self, batch: int, hidden: int) -> bool:
        """Tell if one kernel can take all steps, with W_h on the chip and whole lines in its programs."""
        if self.over_examples:
            most = HIDDEN_ON_CHIP
            if batch > (BATCH_IN_BFLOAT16[self.gates] if self.factors == torch.bfloat16 else BATCH_ON_CHIP):
                return False
        else:
            most = HIDDEN_OF_FACTORS.get(self.factors, {}).get(self.gates, HIDDEN_ON_CHIP)
        rows, units = self.tile_of_all_steps(batch, hidden)
        return hidden <= most and shared_memory(self.gates, rows, units, self.factors) <= self.memory

    def tile_of_all_steps(self, batch: int, hidden: int) -> tuple[int, int]:
        """Rows and units of a program that has W_h."""
        rows = power_of_2(batch) if self.over_examples else ROWS_OF_PRODUCT
        return max(ROWS_OF_PRODUCT, rows), max(ROWS_OF_PRODUCT, power_of_2(hidden))

    @property
    def over_examples(self) -> bool:
        return NormKind.BATCH_NORM in (self.sums.kind, self.cell.kind)


class Tiles(NamedTuple):
    """Tiles of B examples and H units: ``rows`` and ``units``, powers of two."""

    rows: int
    units: int
    grid: tuple[int, int]
    num_warps: int

    @classmethod
    def of(cls, plan: Plan, batch: int, hidden: int) -> "Tiles":
        """A line in one piece: an example each, or all examples of a few features."""
        if plan.fits_on_chip(batch, hidden):
            rows, units = plan.tile_of_all_steps(batch, hidden)
            num_warps = max(units // UNITS_OF_A_WARP, rows * units // LANES_OF_A_WARP)
        else:
            if plan.over_examples:
                rows = power_of_2(batch)
                units = min(power_of_2(hidden), max(4, min(16, 2048 // rows)))
            else:
                rows, units = 1, power_of_2(hidden)
            num_warps = max(1, min(16, rows * units // LANES_OF_A_WARP))
        return cls(rows, units, (-(-batch // rows), -(-hidden // units)), num_warps)

    @property
    def meant(self) -> dict[str, int]:
        return {"R": self.rows, "C": self.units, "num_warps": self.num_warps}


def shared_memory(gates: int, rows: int, units: int, factors: torch.dtype) -> int:
    """Bytes that a program takes at most that has W_h: that, and tiles (rows, units) on their way to other threads."""
    tiles = min(gates + 1, 4)  # at most, as compiled
    return gates * units**2 * factors.itemsize + tiles * rows * units * max(factors.itemsize, torch.float32.itemsize)


def power_of_2(n: int) -> int:
    """The next one."""
    return 1 << (n - 1).bit_length()


class Tensors(NamedTuple):
    """Tensors that both passes read.

    Attributes:
        term: (T, B, G H), the input's.
        weight: (G H, H), W_h, in the precision of the factors.
        states, cells: (T + 1, B, H), before and after every step; no cells for a cell that has none.
        sums: (T, B, G H), W_h h, with the input's term if they are taken together; for one step at a time, (1, B, G H),
            where nobody wants gradients.
        gain, shift: (G H), of the sums.
        cell_gain, cell_shift: (H).
    """

    term: Tensor | None
    weight: Tensor
    states: Tensor
    cells: Tensor | None
    sums: Tensor
    gain: Tensor | None
    shift: Tensor | None
    cell_gain: Tensor | None
    cell_shift: Tensor | None

    @property
    def lengths(self) -> Tensor:
        """(G H), |w| of every row of W_h."""
        lengths: Tensor = torch.linalg.vector_norm(self.weight, dim=1, dtype=self.states.dtype)
        return lengths


class Gradients(NamedTuple):
    """Gradients that backward writes.

    Attributes:
        h, c: (B, H), of the state after the last step, at first; in the end of the first state.
        term: (T, B, G H); None if it is that of the sums.
        sums: (T, B, G H).
        parameters: (programs, G H) or (programs, H), of gain, shift, cell_gain and cell_shift, from each program.
    """

    h: Tensor
    c: Tensor | None
    term: Tensor | None
    sums: Tensor
    parameters: list[Tensor | None]


def at(tensor: Tensor | None, t: int) -> Tensor | None:
    """Part of a tensor that belongs to a step; None for no tensor."""
    return None if tensor is None else tensor[t]

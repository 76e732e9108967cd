"""Plan of a pass: what the pass computes, and how its kernels are cut into tiles.

Shapes: T steps, B examples, H hidden units, G gates, L lines of a norm.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normcore.kernels.cell_layout import NormKind

OVER_FEATURES = {NormKind.LAYER_NORM, NormKind.RMS_NORM}
HIDDEN_ON_CHIP = 64  # with at most this many units, all that a program needs fits into registers
HIDDEN_OF_FACTORS = {torch.float32: {1: 128}, torch.bfloat16: {1: 256, 3: 128, 4: 128}}
"""Larger limits of the units, by precision of the factors and by number of gates, if statistics are over features. A
GRU of 128 units in float32 would fit on an H100 but is not listed: with 100 units, one kernel for all steps took 53 ms
there, and one kernel for each step, with batch norm, 24 ms."""
BATCH_ON_CHIP = 64  # if statistics are over examples, one program can have at most this many examples
BATCH_IN_BFLOAT16 = {1: 64, 3: 32, 4: 32}  # by gates; with more examples, results of products do not fit into registers
ROWS_OF_PRODUCT = 16  # the least number of rows and columns that a product in Triton has
UNITS_OF_A_WARP = 8  # units for each 32 threads of a program that keeps W_h: fewer threads have too few registers
LANES_OF_A_WARP = 256  # numbers of a gate's tile for each 32 threads


@dataclass(slots=True)
class SitePlan:
    """Plan of the norm at one site of a cell.

    Attributes:
        population: (T, 2, G, H), population means and factors 1 / sqrt(var + eps) of each step; None if not used.
        statistics: (T, 2 or 3, G, L), statistics that the pass used: means, factors 1 / sqrt(var + eps) and, for batch
            norm, variances.
    """

    kind: NormKind
    eps: float
    population: Tensor | None
    statistics: Tensor | None = None

    def make_room(self, steps: int, gates: int, batch: int, hidden: int, like: Tensor) -> None:
        """Allocate the statistics of this site, or use the population's."""
        if self.kind is NormKind.POPULATION:
            self.statistics = self.population
        elif self.kind is not NormKind.NONE:
            lines = batch if self.kind in OVER_FEATURES else hidden
            which = 3 if self.kind is NormKind.BATCH_NORM else 2
            self.statistics = like.new_empty(steps, which, gates, lines)


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a pass: what its kernels compute.

    Attributes:
        together: whether the input's term is added to the recurrent term before anything else.
        joint: whether gates share statistics, as in the paper; otherwise each gate is normalized by itself.
        factors: the precision of both factors of the recurrent product: W_h and h.
        mask: (T, B) of uint8, 0 at the steps that an example does not have; None if all examples have all steps.
        memory: bytes of shared memory that a block may use on this device.
    """

    gates: int
    sums: SitePlan
    cell: SitePlan
    together: bool
    joint: bool
    carries_normalized: bool
    factors: torch.dtype
    mask: Tensor | None
    memory: int

    def over(self, mask: Tensor | None, of_sums: Tensor | None, of_cell: Tensor | None) -> "Plan":
        """Copy the plan with other tensors: the mask, and the statistics of both sites."""
        sums = replace(self.sums, population=None, statistics=of_sums)
        return replace(self, mask=mask, sums=sums, cell=replace(self.cell, population=None, statistics=of_cell))

    def list_constants_of_both(self, hidden: int) -> dict[str, Any]:
        """Return the constants with which the kernels of both passes are compiled."""
        return {
            "H": hidden,
            "G": self.gates,
            "KIND_SUMS": int(self.sums.kind),
            "KIND_CELL": int(self.cell.kind),
            "JOINT": self.joint,
            "CARRIES": self.carries_normalized,
        }

    def list_constants_of_forward(self, hidden: int) -> dict[str, Any]:
        """Return the constants with which the kernels of the forward pass are compiled."""
        return {
            **self.list_constants_of_both(hidden),
            "EPS_SUMS": self.sums.eps,
            "EPS_CELL": self.cell.eps,
            "LAST_PLACE": torch.finfo(self.factors).eps,
        }

    def make_room(self, steps: int, batch: int, hidden: int, like: Tensor) -> None:
        """Allocate the statistics of both sites."""
        self.sums.make_room(steps, self.gates, batch, hidden, like)
        self.cell.make_room(steps, 1, batch, hidden, like)

    def fits_on_chip(self, batch: int, hidden: int) -> bool:
        """Tell if one kernel can compute all steps, with W_h on the chip and whole lines of a norm in each program."""
        if self.over_examples:
            most = HIDDEN_ON_CHIP
            if batch > (BATCH_IN_BFLOAT16[self.gates] if self.factors == torch.bfloat16 else BATCH_ON_CHIP):
                return False
        else:
            most = HIDDEN_OF_FACTORS.get(self.factors, {}).get(self.gates, HIDDEN_ON_CHIP)
        rows, units = self.tile_of_all_steps(batch, hidden)
        return hidden <= most and shared_memory(self.gates, rows, units, self.factors) <= self.memory

    def tile_of_all_steps(self, batch: int, hidden: int) -> tuple[int, int]:
        """Return the rows and units of the tile of a program that keeps W_h on the chip."""
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
        """Choose tiles that contain whole lines of a norm: all features of an example, or all examples of a few
        features."""
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
    """Return the most bytes of shared memory that a program with W_h takes: W_h itself, and tiles (rows, units) that go
    from thread to thread."""
    tiles = min(gates + 1, 4)  # upper bound, from compiled kernels
    return gates * units**2 * factors.itemsize + tiles * rows * units * max(factors.itemsize, torch.float32.itemsize)


def power_of_2(n: int) -> int:
    """Return the smallest power of 2 that is at least n."""
    return 1 << (n - 1).bit_length()


class Tensors(NamedTuple):
    """Tensors that both passes read.

    Attributes:
        term: (T, B, G H), the input's term.
        weight: (G H, H), W_h, in the precision ``Plan.factors``.
        states, cells: (T + 1, B, H), h and c before the first step and after every step; ``cells`` is None without c.
        sums: (T, B, G H), W_h h, plus the input's term if both are taken together. (1, B, G H), for the present step
            only, if no gradients are needed.
        gain, shift: (G H), parameters of the norm of the sums.
        cell_gain, cell_shift: (H), parameters of the norm of the cell c.
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
        """Lengths |w| of the rows of W_h, (G H)."""
        lengths: Tensor = torch.linalg.vector_norm(self.weight, dim=1, dtype=self.states.dtype)
        return lengths


class Gradients(NamedTuple):
    """Gradients that backward writes.

    Attributes:
        h, c: (B, H), gradients of the state: at first of the state after the last step, in the end of the first state.
        term: (T, B, G H), gradient of the input's term; None if it equals the gradient of the sums.
        sums: (T, B, G H), gradient of the sums.
        parameters: gradients of gain, shift, cell_gain and cell_shift, with one row for each program: (programs, G H)
            or (programs, H).
    """

    h: Tensor
    c: Tensor | None
    term: Tensor | None
    sums: Tensor
    parameters: list[Tensor | None]


def at(tensor: Tensor | None, t: int) -> Tensor | None:
    """Return the part of a tensor that belongs to step t; None if there is no tensor."""
    return None if tensor is None else tensor[t]

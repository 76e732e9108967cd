"""Layout of a cell for fused kernels: the norm at each site, and its parameters."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from normcore.cells.gru import GRU
from normcore.cells.lstm import LSTM
from normcore.cells.rnn import RNN
from normcore.cells.view import CellView
from normcore.norms.batch_statistics import require_examples
from normcore.norms.layer_norm import LayerNormalized
from normcore.norms.normalization import Identity, Shift
from normcore.norms.recurrent_batch_norm import BatchNormAtSite
from normcore.norms.rms_norm import RMSNormalized
from normcore.norms.sequence_batch_norm import SequenceBatchNormAtSite


class NormKind(IntEnum):
    """Kind of norm in a pass; the numbers are those of ``cpu/src/recurrence.hpp``."""

    NONE = 0
    LAYER_NORM = 1
    RMS_NORM = 2
    BATCH_NORM = 3
    POPULATION = 4


KINDS: dict[type[nn.Module], NormKind] = {
    LayerNormalized: NormKind.LAYER_NORM,
    RMSNormalized: NormKind.RMS_NORM,
    BatchNormAtSite: NormKind.BATCH_NORM,
}
NO_NORM = (type(None), Identity)
AT_SITES = (*KINDS, *NO_NORM, Shift)
CELLS: dict[type[nn.Module], int] = {LSTM: 4, GRU: 3, RNN: 1}
"""Cells that have kernels, with their numbers of gates. Their subclasses have none, because they may compute something
else. The same is true of norms."""


class SiteLayout(NamedTuple):
    """A place of a cell, with the norm and the parameters at this place.

    Attributes:
        name: name of the place's module in the cell.
        norm: the norm; None if only a shift is added, or nothing.
        gain, shift: parameters of the place, or None.
    """

    name: str
    norm: nn.Module | None
    gain: Tensor | None
    shift: Tensor | None

    @property
    def eps(self) -> float:
        return self.norm.eps if self.norm is not None else 0.0  # type: ignore[return-value]

    @property
    def wants_moments(self) -> bool:
        return isinstance(self.norm, BatchNormAtSite) and self.norm.wants_statistics


class CellLayout(NamedTuple):
    """Layout of a cell's normalization.

    Attributes:
        cell: class of the cell's equations.
        kind: kind of all norms of the cell in this pass.
        gates: number of summed inputs that a unit has.
        biases: b; and the second bias of ``CellView``, or None.
        sites: three sites: the input's term; the recurrent term, or the sum of both terms; the cell c.
        over_all_steps: norm that is applied to the input's term before the first step; it is the same affine map at
            every step.
        together: whether the input's term is added to the recurrent term before the norm.
        per_gate: whether each gate is normalized by itself.
    """

    cell: type[nn.Module]
    kind: NormKind
    gates: int
    biases: tuple[Tensor, Tensor | None]
    sites: tuple[SiteLayout, SiteLayout, SiteLayout]
    over_all_steps: SequenceBatchNormAtSite | None
    together: bool
    per_gate: bool
    carries_normalized: bool
    bias_inside: bool
    bias_outside: bool

    @classmethod
    def of(cls, cell: Any) -> "CellLayout | None":
        """Find the layout of a cell. None if there are no kernels for the cell or for one of its norms, or if only some
        norms use the minibatch's statistics.
        """
        summed = type(getattr(cell, "norm_sum", None)) not in NO_NORM
        names = ("norm_x", "norm_sum" if summed else "norm_h", "norm_c")
        modules = [getattr(cell, name, None) for name in names]
        over_all_steps = modules[0] if type(modules[0]) is SequenceBatchNormAtSite else None
        if over_all_steps is not None:
            modules[0] = None
        equations = cell.kind if type(cell) is CellView else type(cell)
        if equations not in CELLS or not all(type(module) in AT_SITES for module in modules):
            return None
        if over_all_steps is not None and cell.bias_place != "outside":
            return None
        sites = tuple(map(_site, names, modules))
        norms = [site.norm for site in sites if site.norm is not None]
        kinds = {_kind(norm) for norm in norms} or {NormKind.NONE}
        if len(kinds) > 1:
            return None
        [kind] = kinds
        apart = sites[0].norm is not None or (sites[1].norm is not None and not summed)
        return cls(
            cell=equations,
            kind=kind,
            gates=cell.weight_hh.shape[0] // cell.weight_hh.shape[1],
            biases=cell.biases if type(cell) is CellView else (cell.bias, cell.bias_hh),
            sites=sites,  # type: ignore[arg-type]
            over_all_steps=over_all_steps,
            together=equations is not GRU and not apart,
            per_gate=any(isinstance(norm, LayerNormalized) and _is_by_gate(norm) for norm in norms),
            carries_normalized=getattr(cell, "carries_normalized_cell", False),
            bias_inside=cell.bias_place != "outside",
            bias_outside=cell.bias_place != "inside",
        )

    @classmethod
    def of_pass(cls, cell: Any, x: Tensor, state: Iterable[Tensor], mask: Tensor | None) -> "CellLayout | None":
        """Find the layout of a cell in a pass over x (T, B, F). None if no fused kernel computes the pass:

        - there are no steps;
        - gradients flow through population statistics, or float32 cannot hold these statistics;
        - only some norms use the minibatch's statistics;
        - shapes or devices do not fit; the reference raises a clearer error.

        Raises:
            ValueError: there is only one example, and the norms use the minibatch's statistics.
        """
        layout = cls.of(cell)
        if layout is None or x.numel() == 0 or not _fits(layout, cell, x, state, mask):
            return None
        if layout.kind is NormKind.POPULATION and layout.has_large_population:
            return None
        if layout.kind is NormKind.POPULATION and torch.is_grad_enabled():
            return None if any(tensor.requires_grad for tensor in (x, *state, *cell.parameters())) else layout
        if layout.kind is NormKind.BATCH_NORM:
            require_examples(x.shape[1])
        return layout

    @property
    def has_large_population(self) -> bool:
        """Tell if the population statistics are in float64 because float32 cannot hold a variance."""
        parts = [part for known in self.population() if known is not None for part in known]
        gains = [site.gain for site in self.sites if site.gain is not None]
        return any(part.dtype == torch.float64 for part in parts) and all(g.dtype != torch.float64 for g in gains)

    def population(self) -> list[tuple[Tensor, Tensor] | None]:
        """Return the population's means and variances of each site at every known step, (S, features) each. None for a
        site that does not use population statistics.

        Raises:
            ValueError: there are no population statistics.
        """
        return [
            site.norm.known_population()
            if self.kind is NormKind.POPULATION and isinstance(site.norm, BatchNormAtSite)
            else None
            for site in self.sites
        ]


def _fits(layout: CellLayout, cell: Any, x: Tensor, state: Iterable[Tensor], mask: Tensor | None) -> bool:
    """Tell if all shapes and devices fit. Kernels do not check them, and would write beyond the end of a tensor."""
    (steps, batch, features), (rows, hidden) = x.shape, cell.weight_hh.shape
    widths = (rows, rows, hidden)
    own: list[tuple[Tensor | None, int]] = [(bias, rows) for bias in layout.biases]
    for site, width in zip(layout.sites, widths, strict=True):
        own += ((site.gain, width), (site.shift, width))
    return (
        rows == CELLS[layout.cell] * hidden
        and cell.weight_ih.shape == (rows, features)
        and all(part is None or (part.shape == (width,) and part.is_cpu == x.is_cpu) for part, width in own)
        and cell.weight_ih.is_cpu == cell.weight_hh.is_cpu == x.is_cpu
        and all(part.shape == (batch, hidden) for part in state)
        and (mask is None or mask.shape == (steps, batch))
        and (layout.kind is not NormKind.POPULATION or _fits_population(layout, widths))
    )


def _fits_population(layout: CellLayout, widths: Iterable[int]) -> bool:
    population = zip(layout.population(), widths, strict=True)
    return all(
        known is None or known[0].shape == known[1].shape == (len(known[0]), width) for known, width in population
    )


def _site(name: str, module: nn.Module | None) -> SiteLayout:
    if type(module) in NO_NORM:
        return SiteLayout(name, None, None, None)
    norm = module if type(module) in KINDS else None
    return SiteLayout(name, norm, getattr(module, "weight", None), getattr(module, "bias", None))


def _kind(norm: nn.Module) -> NormKind:
    if isinstance(norm, BatchNormAtSite) and not norm.takes_batch:
        return NormKind.POPULATION
    return KINDS[type(norm)]


def _is_by_gate(norm: LayerNormalized) -> bool:
    return len(norm.blocks) > 1 and len(set(norm.blocks)) == 1

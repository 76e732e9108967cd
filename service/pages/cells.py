"""The cells of a sweep as their page shows them: their order, the filters, and one page of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from normcore.spec.metric import Metric
from normcore.spec.names import cell_names
from service import wording
from service.leaderboards.seeds import are_too_few
from service.pages import axes
from service.pages.axes import Axis, Mark
from service.pages.sweep_choices import SweepChoices
from service.sweeps.levels import Field
from service.sweeps.schemas import Sweep, SweepCell
from service.sweeps.verdict import tied_for_first

SHADES = 5  # colours of a heat table; the last colour is for the best cells
ON_A_PAGE = 25


@dataclass(frozen=True)
class ShownCell:
    """Cell of a sweep as its page shows it.

    Attributes:
        number: number of the cell in the sweep, from 0.
        value: mean test value of the seeds that converged; None if the cell has no value.
        worth: number that gives the cell its colour and its place: the value, or the score if some seeds diverged.
        valid: mean validation value; None if the cell has no value.
        is_tied: whether the cell ties for first.
        diverged: whether every seed diverged.
    """

    cell: SweepCell
    number: int
    name: str
    value: float | None
    worth: float | None
    valid: float | None
    is_best: bool
    is_tied: bool
    diverged: bool

    @property
    def has_rank(self) -> bool:
        """Tell if the cell has a rank and enough seeds to show it."""
        return self.cell.rank is not None and self.cell.entry is not None and not are_too_few(self.cell.entry.n_seeds)


@dataclass(frozen=True)
class CellList:
    """One page of a sweep's cells.

    Attributes:
        n_all: number of cells that the filters leave.
        axis: axis of the cells' values; None without values.
    """

    cells: Sequence[ShownCell]
    n_all: int
    page: int
    n_pages: int
    axis: Axis | None

    def mark(self, shown: ShownCell) -> Mark | None:
        """Mark of the cell's value on the axis."""
        if self.axis is None or shown.value is None or shown.cell.entry is None or shown.cell.entry.value is None:
            return None
        return self.axis.mark(shown.value, shown.cell.entry.value.ci95)


def show_cells(sweep: Sweep) -> list[ShownCell]:
    """All cells of a sweep, in the order of the sweep."""
    best = sweep.best.fingerprint if sweep.best else None
    tied = {cell.fingerprint for cell in tied_for_first(sweep)}
    named = zip(sweep.cells, cell_names([cell.values for cell in sweep.cells]), strict=True)
    return [
        ShownCell(
            cell=cell,
            number=number,
            name=name,
            value=_value(cell),
            worth=_worth(cell),
            valid=cell.entry.valid_value if cell.entry else None,
            is_best=cell.fingerprint == best,
            is_tied=cell.fingerprint in tied,
            diverged=has_diverged(cell),
        )
        for number, (cell, name) in enumerate(named)
    ]


def has_diverged(cell: SweepCell) -> bool:
    """Tell if a cell has results, and every seed has diverged."""
    return cell.entry is not None and cell.entry.n_runs > 0 and cell.entry.n_diverged == cell.entry.n_runs


def _value(cell: SweepCell) -> float | None:
    return cell.entry.value.mean if cell.entry and cell.entry.value else None


def _worth(cell: SweepCell) -> float | None:
    return cell.entry.score if cell.entry and cell.entry.n_diverged else _value(cell)


def order_numbers(numbers: Sequence[float], metric: Metric | None) -> Sequence[float]:
    """The different finite numbers, from the worst to the best; empty if they cannot be compared."""
    if metric is None:
        return []
    return sorted({number for number in numbers if math.isfinite(number)}, reverse=metric.direction == "minimize")


def shade(number: float | None, ordered: Sequence[float]) -> int | None:
    """Shade of a number, from 0 for the worst to ``SHADES - 1`` for the best: its place among all numbers. Each shade
    has about equally many of them, so that one bad value does not make all others look alike.

    Args:
        ordered: all numbers, from the worst to the best.
    """
    if number is None or number not in ordered:
        return None
    share = ordered.index(number) / (len(ordered) - 1) if len(ordered) > 1 else 1.0
    return min(int(share * SHADES), SHADES - 1)


def list_cells(
    shown: Sequence[ShownCell], fields: Sequence[Field], metric: Metric | None, choices: SweepChoices
) -> CellList:
    """One page of the cells that the filters leave, in the order that was asked for."""
    found = sort_cells(filter_cells(shown, fields, choices), fields, metric, choices)
    n_pages = max(1, math.ceil(len(found) / ON_A_PAGE))
    page = min(choices.page, n_pages)
    return CellList(found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE], len(found), page, n_pages, _axis(shown, metric))


def filter_cells(shown: Sequence[ShownCell], fields: Sequence[Field], choices: SweepChoices) -> list[ShownCell]:
    """Cells in the chosen state whose fields have the chosen levels. Several levels of one field are alternatives."""
    wanted: dict[str, set[str]] = {}
    for condition in choices.where:
        path, _, level = condition.partition("=")
        wanted.setdefault(path, set()).add(level)
    of_paths = {field.path: field for field in fields}

    def is_wanted(one: ShownCell) -> bool:
        return all(
            of_paths[path].levels[of_paths[path].of_cells[one.number]] in levels for path, levels in wanted.items()
        )

    return [one for one in shown if _is_in_state(one, choices.state) and is_wanted(one)]


def _is_in_state(one: ShownCell, state: str | None) -> bool:
    if state == "diverged":
        return bool(one.cell.entry and one.cell.entry.n_diverged)
    return state in (None, one.cell.state)


def sort_cells(
    shown: Sequence[ShownCell], fields: Sequence[Field], metric: Metric | None, choices: SweepChoices
) -> list[ShownCell]:
    """Sort cells by a column, the best or the first value first, or last. Cells without a value are always last, and
    cells over the budget stand before them. Cells that do not compare keep the order of the sweep."""
    sign = -1 if metric is not None and metric.direction == "maximize" else 1
    keys: dict[str, Callable[[ShownCell], Any]] = {
        "rank": lambda one: one.cell.rank if one.has_rank else None,
        "validation": lambda one: None if one.valid is None or metric is None else sign * one.valid,
        "test": lambda one: None if one.worth is None or metric is None else sign * one.worth,
        "seeds": lambda one: -len(one.cell.seeds),
        "state": lambda one: one.cell.state,
        **{field.path: partial(_place, field) for field in fields},
    }
    key = keys[choices.sort]
    known = sorted((one for one in shown if key(one) is not None), key=key, reverse=choices.order == "last")
    if choices.sort in ("validation", "test"):
        known.sort(key=lambda one: one.cell.entry is not None and one.cell.entry.over_budget)
    return known + [one for one in shown if key(one) is None]


def _place(field: Field, one: ShownCell) -> float:
    return field.places[one.number]


def _axis(shown: Sequence[ShownCell], metric: Metric | None) -> Axis | None:
    values = [one.value for one in shown if one.value is not None]
    if not values or metric is None:
        return None
    estimates = [one.cell.entry.value for one in shown if one.cell.entry and one.cell.entry.value]
    limits = [limit for estimate in estimates for limit in estimate.ci95 or ()]
    return axes.linear(values, limits, partial(wording.level, metric=metric.name))

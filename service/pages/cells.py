"""The cells of a sweep as their page shows them: a heat table of two fields, or a list, best first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normcore.spec.metric import Metric
from normcore.spec.names import cell_names, option, text
from service.sweeps.schemas import Sweep, SweepCell

SHADES = 5  # colours of a heat table; the last colour is for the best cells


@dataclass(frozen=True)
class ShownCell:
    """Cell of a sweep as its page shows it.

    Attributes:
        value: mean test value; None if the cell has no value.
        valid: mean validation value; None if the cell has no value.
        shade: from 0 for the worst values to ``SHADES - 1`` for the best; None without a value.
        diverged: whether every seed diverged.
    """

    cell: SweepCell
    name: str
    value: float | None
    valid: float | None
    shade: int | None
    is_best: bool
    diverged: bool


@dataclass(frozen=True)
class Heat:
    """Heat table of a sweep over two fields: a row for each value of one field, a column for each of the other."""

    row_name: str
    column_name: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[ShownCell | None]]]


@dataclass(frozen=True)
class CellArrangement:
    """Cells of a sweep, arranged for its page: as a heat table if the sweep has two fields, else as a list.

    Attributes:
        heat: heat table; None if the sweep does not go over exactly two fields.
        cells: all cells, best first.
        ends: the worst and the best test value; None if there are no values to compare.
    """

    heat: Heat | None
    cells: Sequence[ShownCell]
    ends: tuple[float, float] | None


def arrange_cells(sweep: Sweep, metric: Metric | None) -> CellArrangement:
    """Arrange all cells of a sweep for its page.

    Args:
        metric: metric by which cells are compared; None if their values cannot be compared.
    """
    values = [value for cell in sweep.cells if (value := _value(cell)) is not None] if metric else []
    ends = (min(values), max(values)) if values else None
    if ends is not None and metric is not None and metric.direction == "minimize":
        ends = ends[1], ends[0]
    best = sweep.best.fingerprint if sweep.best else None
    shown = [
        ShownCell(
            cell=cell,
            name=name,
            value=_value(cell),
            valid=cell.entry.valid_value if cell.entry else None,
            shade=_shade(_value(cell), ends),
            is_best=cell.fingerprint == best,
            diverged=has_diverged(cell),
        )
        for cell, name in zip(sweep.cells, cell_names([cell.values for cell in sweep.cells]), strict=True)
    ]
    return CellArrangement(_heat(sweep, shown), _sort_cells(shown, metric), ends)


def has_diverged(cell: SweepCell) -> bool:
    """Tell if a cell has results, and every seed has diverged."""
    return cell.entry is not None and cell.entry.n_runs > 0 and cell.entry.n_diverged == cell.entry.n_runs


def _value(cell: SweepCell) -> float | None:
    return cell.entry.value.mean if cell.entry and cell.entry.value else None


def _shade(value: float | None, ends: tuple[float, float] | None) -> int | None:
    """Shade of a value: its place among equal parts from the worst to the best value."""
    if value is None or ends is None or not math.isfinite(value):
        return None
    worst, best = ends
    share = (value - worst) / (best - worst) if best != worst else 1.0
    return min(int(share * SHADES), SHADES - 1)


def _sort_cells(shown: Sequence[ShownCell], metric: Metric | None) -> list[ShownCell]:
    """Sort cells by validation value, best first. Cells over the budget follow; cells without a value are last."""
    if metric is None:
        return list(shown)
    sign = -1 if metric.direction == "maximize" else 1

    def place(one: ShownCell) -> tuple[bool, bool, float]:
        over_budget = one.cell.entry is not None and one.cell.entry.over_budget
        return (one.valid is None, over_budget, sign * (one.valid or 0.0))

    return sorted(shown, key=place)


def _heat(sweep: Sweep, shown: Sequence[ShownCell]) -> Heat | None:
    """Heat map of a grid over two fields. The field with fewer values goes across."""
    if len(sweep.grid) != 2 or sweep.random:
        return None
    columns, rows = sorted(sweep.grid, key=lambda path: len(sweep.grid[path]))
    at = {(repr(one.cell.values[rows]), repr(one.cell.values[columns])): one for one in shown}
    return Heat(
        row_name=option(rows),
        column_name=option(columns),
        columns=[text(value) for value in sweep.grid[columns]],
        rows=[
            (text(row), [at.get((repr(row), repr(column))) for column in sweep.grid[columns]])
            for row in sweep.grid[rows]
        ],
    )

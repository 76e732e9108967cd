"""The cells of a sweep as they are shown: a table over two axes, or a list, best first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.spec.metric import Metric
from normcore.spec.names import cell_names, option, text
from service.sweeps.schemas import Sweep, SweepCell

SHADES = 5  # of a heat table, the last one for the best cells


@dataclass(frozen=True)
class ShownCell:
    """A cell of the table.

    Attributes:
        value, valid: the mean test and validation value; None if there is none.
        shade: 0 for the worst values to ``SHADES - 1`` for the best; None where there is no value.
        diverged: whether every seed has.
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
    """Cells over two axes: a row for each value of one, a column for each of the other."""

    row_name: str
    column_name: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[ShownCell | None]]]


@dataclass(frozen=True)
class Arranged:
    """Cells in the form that fits them: ``heat`` for two axes, else ``cells``, best first.

    Attributes:
        ends: the worst and the best value; None if there are none to compare.
    """

    heat: Heat | None
    cells: Sequence[ShownCell]
    ends: tuple[float, float] | None


def arranged(sweep: Sweep, metric: Metric | None) -> Arranged:
    """All cells of a sweep.

    Args:
        metric: what they are compared by; None if their values do not compare.
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
    return Arranged(_heat(sweep, shown), _sorted(shown, metric), ends)


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


def _sorted(shown: Sequence[ShownCell], metric: Metric | None) -> list[ShownCell]:
    """Best first by validation, which decides; cells over the budget follow, and those without a value are last."""
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
    at = {(_key(one.cell.values[rows]), _key(one.cell.values[columns])): one for one in shown}
    return Heat(
        row_name=option(rows),
        column_name=option(columns),
        columns=[text(value) for value in sweep.grid[columns]],
        rows=[
            (text(row), [at.get((_key(row), _key(column))) for column in sweep.grid[columns]])
            for row in sweep.grid[rows]
        ],
    )


def _key(value: Any) -> str:
    return repr(value)

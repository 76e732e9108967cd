"""Heat table of a sweep over one or two of its fields."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from normcore.spec.metric import Metric
from service.pages.cells import ShownCell, order_numbers, shade
from service.pages.sweep_choices import NO_FIELD, Each, SweepChoices
from service.sweeps.levels import Field


@dataclass(frozen=True)
class HeatCell:
    """Cell of a heat table: all cells of the sweep with one level of each of its fields.

    Attributes:
        members: cells of the sweep.
        first: the best of them by validation, or else the first; its experiment is linked.
        worth: number that the table shows; None if no cell has a value.
        shade: shade of this number; None without a number.
        where: filters that leave these cells only.
    """

    members: Sequence[ShownCell]
    first: ShownCell
    worth: float | None
    shade: int | None
    where: tuple[str, ...]

    @property
    def is_best(self) -> bool:
        return any(one.is_best for one in self.members)

    @property
    def n_diverged(self) -> int:
        """Number of cells of the sweep whose seeds all diverged."""
        return sum(one.diverged for one in self.members)


@dataclass(frozen=True)
class Heat:
    """Heat table: a row for each level of one field, a column for each level of the other field.

    Attributes:
        columns: None if the table is over one field.
        others: names of the other fields of the sweep, whose values the table does not show.
        is_pooled: whether several cells of the sweep belong to a cell of the table.
        ordered: the numbers of the table, from the worst to the best; empty if the cells do not compare.
    """

    rows: Field
    columns: Field | None
    each: Each
    others: Sequence[str]
    is_pooled: bool
    cells: Sequence[Sequence[HeatCell | None]]
    ordered: Sequence[float]


def make_heat(
    shown: Sequence[ShownCell], fields: Sequence[Field], metric: Metric | None, choices: SweepChoices
) -> Heat | None:
    """Make the heat table of the chosen fields; None if the sweep varies fewer than two fields."""
    if len(fields) < 2:
        return None
    rows, columns = _choose(fields, choices)
    members: dict[tuple[int, int], list[ShownCell]] = {}
    for one in shown:
        place = rows.of_cells[one.number], columns.of_cells[one.number] if columns else 0
        members.setdefault(place, []).append(one)
    numbers = {place: _number(own, metric, choices.each) for place, own in members.items()}
    ordered = order_numbers([number for number in numbers.values() if number is not None], metric)

    def cell_at(row: int, column: int) -> HeatCell | None:
        own = members.get((row, column))
        if own is None:
            return None
        number = numbers[row, column]
        where = [f"{rows.path}={rows.levels[row]}", *([f"{columns.path}={columns.levels[column]}"] if columns else [])]
        return HeatCell(own, _first(own, metric), number, shade(number, ordered), tuple(where))

    return Heat(
        rows=rows,
        columns=columns,
        each=choices.each,
        others=[field.name for field in fields if field not in (rows, columns)],
        is_pooled=any(len(own) > 1 for own in members.values()),
        cells=[
            [cell_at(row, column) for column in range(len(columns.levels) if columns else 1)]
            for row in range(len(rows.levels))
        ],
        ordered=ordered,
    )


def _choose(fields: Sequence[Field], choices: SweepChoices) -> tuple[Field, Field | None]:
    """Fields of the rows and of the columns. By default, the first two fields; the shorter one goes across. If one
    field is chosen for both, it makes the rows."""
    of_paths = {field.path: field for field in fields}
    if choices.rows is None and choices.columns in (None, NO_FIELD):
        columns, rows = sorted(fields[:2], key=lambda field: len(field.levels))
        return rows, None if choices.columns == NO_FIELD else columns
    if choices.rows is None:
        columns = of_paths[choices.columns or ""]
        return next(field for field in fields if field is not columns), columns
    rows = of_paths[choices.rows]
    if choices.columns == NO_FIELD:
        return rows, None
    usual = next(field for field in fields if field is not rows)
    return rows, usual if choices.columns == rows.path else of_paths.get(choices.columns or "", usual)


def _first(members: Sequence[ShownCell], metric: Metric | None) -> ShownCell:
    """The best cell by validation, within the budget if there is one; without validation values, the first cell."""
    valid = [one for one in members if one.valid is not None]
    if not valid or metric is None:
        return members[0]
    sign = -1 if metric.direction == "maximize" else 1

    def place(one: ShownCell) -> tuple[bool, float]:
        return one.cell.entry is not None and one.cell.entry.over_budget, sign * (one.valid or 0.0)

    return min(valid, key=place)


def _number(members: Sequence[ShownCell], metric: Metric | None, each: Each) -> float | None:
    """Number that stands for these cells: the worth of the best cell, or the mean of all that have a value."""
    if each == "best":
        return _first(members, metric).worth
    worths = [one.worth for one in members if one.worth is not None]
    return statistics.fmean(worths) if worths else None

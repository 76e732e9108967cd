"""Figures of a sweep, for API and pages."""

import math
from collections.abc import Collection

from normcore.figures import Figure, Theme
from normcore.figures.budget import Budget, budgets
from normcore.figures.parallel import Kind, ParallelAxis, ParallelLine, parallel
from normcore.spec.metric import Metric, is_share
from normcore.spec.names import cell_names
from service import wording
from service.sweeps import findings
from service.sweeps.levels import Field, fields_of
from service.sweeps.schemas import Sweep, SweepCell, SweepSummary
from service.sweeps.verdict import tied_for_first

BUDGET = "budget"
PARALLEL = "parallel"
NAMES = (BUDGET, PARALLEL)
MAX_AXES = 8


def draw(sweep: Sweep, name: str, theme: Theme) -> Figure:
    """Draw a figure of a sweep by its name, out of ``NAMES``."""
    return _draw_parallel(sweep, theme) if name == PARALLEL else _draw_budget(sweep, theme)


def _draw_budget(sweep: Sweep, theme: Theme) -> Figure:
    """Draw the budget curve: the value of the best of k cells."""
    metric = metric_of(sweep)
    words = metric.name.replace("_", " ") if metric else "value"
    return budgets(
        [Budget(method, points) for method, points in sweep.budget_curve.items()],
        sorted({flip.k for flip in sweep.budget_flips}),
        theme,
        title=f"{subject(sweep)}: best of so many settings",
        y=f"test {words}",
        percent=metric is not None and is_share(metric.name),
    )


def _draw_parallel(sweep: Sweep, theme: Theme) -> Figure:
    """Draw the cells as lines over an axis for each field, and one for their test values."""
    fields, metric = fields_of(sweep)[:MAX_AXES], metric_of(sweep)
    values = [cell.entry.value.mean if cell.entry and cell.entry.value else None for cell in sweep.cells]
    known = [value for value in values if value is not None]
    least, most = (min(known), max(known)) if known else (0.0, 1.0)
    name = metric.name if metric else "value"
    ticks = [least + (most - least) * k / 4 for k in range(5)]
    first = {cell.fingerprint for cell in tied_for_first(sweep)}
    names = cell_names([cell.values for cell in sweep.cells])
    lines = [
        ParallelLine(
            f"{names[number]}: {wording.value(value, name)}",
            [*(field.places[number] for field in fields), _place(value, least, most)],
            _kind(sweep, cell, first),
        )
        for number, (cell, value) in enumerate(zip(sweep.cells, values, strict=True))
        if cell.entry is not None
    ]
    return parallel(
        [
            *(ParallelAxis(field.name.replace("_", " "), _ticks(field)) for field in fields),
            ParallelAxis(
                f"test {name.replace('_', ' ')}",
                [(_place(at, least, most) or 0.0, wording.value(at, name)) for at in ticks],
            ),
        ],
        lines,
        theme,
        title=f"{subject(sweep)}: a line for each cell",
    )


def _kind(sweep: Sweep, cell: SweepCell, first: Collection[str]) -> Kind:
    if sweep.best is not None and cell.fingerprint == sweep.best.fingerprint:
        return "best"
    if cell.entry is not None and cell.entry.value is None:
        return "diverged"
    return "first" if cell.fingerprint in first else "other"


def _place(value: float | None, least: float, most: float) -> float | None:
    """Place of a value on the axis of values; None if there is no finite value."""
    if value is None or not math.isfinite(value):
        return None
    return (value - least) / (most - least) if most > least else 0.5


def _ticks(field: Field) -> list[tuple[float, str]]:
    """Ticks of a field's axis: its levels, each at the middle of its cells."""
    places: dict[int, list[float]] = {}
    for level, place in zip(field.of_cells, field.places, strict=True):
        places.setdefault(level, []).append(place)
    return [((min(own) + max(own)) / 2, field.levels[level]) for level, own in sorted(places.items())]


def metric_of(sweep: Sweep) -> Metric | None:
    """Metric that compares the cells; None for cells of several tasks, or of an analysis."""
    return findings.metric_of([task.name for task in sweep.tasks])


def subject(sweep: SweepSummary) -> str:
    """Task and profile of a sweep in words, or "several tasks"."""
    return f"{sweep.tasks[0].name}, {sweep.tasks[0].profile}" if len(sweep.tasks) == 1 else "several tasks"

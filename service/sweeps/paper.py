"""Table of a sweep for papers."""

from collections.abc import Sequence

from normcore.spec import names
from normcore.spec.metric import Direction
from service import wording
from service.leaderboards.paper import describe_means, estimate_cells, name_metric, write_day, write_seeds, write_value
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells, without_empty_columns
from service.sweeps.schemas import Sweep, SweepCell

DIGITS = 4  # of a drawn number


def sweep_on_paper(sweep: Sweep) -> list[PaperTable]:
    """Table of a sweep: a row for each cell, by validation value, the best cell in bold."""
    fields = [*sweep.grid, *sweep.random]
    where = wording.listed([f"{task.name} ({task.profile})" for task in sweep.tasks])
    counts = [cell.entry.n_seeds for cell in sweep.cells if cell.entry]
    varied = wording.listed([names.option(field) for field in fields])
    best = "Bold: the cell with the best validation value. " if sweep.best else ""
    table = PaperTable(
        f"sweep-{sweep.tasks[0].name}-{sweep.tasks[0].profile}" if len(sweep.tasks) == 1 else "sweep",
        f"Sweep over {varied} on {where}.{describe_means(counts)} {best}normbench, {write_day()}.",
        [
            *(PaperColumn(names.option(field), "left") for field in fields),
            *([PaperColumn(name_metric(sweep.metric, sweep.unit, "Validation"))] if sweep.metric else []),
            *([PaperColumn(name_metric(sweep.metric, sweep.unit))] if sweep.metric else []),
            *([PaperColumn("95% interval")] if sweep.metric else []),
            PaperColumn("n"),
        ],
        [RowGroup([_row(sweep, cell, fields) for cell in _sort(sweep.cells, sweep.direction)])],
        f"This sweep on {where} has no cells.",
    )
    return [without_empty_columns(table, wording.DASH, always=len(fields))]


def _sort(swept: Sequence[SweepCell], direction: Direction | None) -> list[SweepCell]:
    """Sort cells by validation value, best first. Cells without a value are last."""
    sign = -1 if direction == "maximize" else 1

    def place(cell: SweepCell) -> tuple[bool, float]:
        value = cell.entry.valid_value if cell.entry else None
        return value is None, sign * (value or 0.0)

    return sorted(swept, key=place) if direction else list(swept)


def _row(sweep: Sweep, cell: SweepCell, fields: Sequence[str]) -> list[PaperCell]:
    strong = sweep.best is not None and cell.values == sweep.best.values
    shown = cells(*(names.text(cell.values[field], DIGITS) for field in fields))
    entry = cell.entry
    if sweep.metric is None:
        return [*shown, PaperCell(write_seeds(entry.n_seeds, entry.n_diverged) if entry else wording.DASH)]
    if entry is None:
        return [*shown, *cells(*[wording.DASH] * 4)]
    valid = PaperCell(write_value(entry.valid_value, sweep.metric))
    lost = entry.n_diverged and entry.n_diverged == entry.n_seeds
    value = cells("diverged", wording.DASH) if lost else estimate_cells(entry.value, sweep.metric, strong=strong)
    return [*shown, valid, *value, PaperCell(write_seeds(entry.n_seeds, entry.n_diverged))]

"""A sweep as a table: a row for each cell, with a column for each field that it varies."""

from collections.abc import Callable
from typing import Any

from service.http.tables import Column, Table, interval
from service.leaderboards.columns import estimate
from service.sweeps.schemas import Sweep, SweepCell

FILE_ROW = "A row for each cell; a varied field's column has its value as JSON, and `values.` before its name."
FILE_EXAMPLE = '"sweep_id","values.norm.gain_init","experiment_id","best"\n"swp_01KAJ3…","0.1","exp_01KAJ3…",true\n'


def sweep_table(sweep: Sweep) -> Table:
    """What a sweep says of its cells; what their entries have beyond that is on their board."""
    return Table(
        sweep.id,
        (
            Column("sweep_id", "text", lambda _: sweep.id),
            *(Column(f"values.{field}", "json", _value_of(field)) for field in (*sweep.grid, *sweep.random)),
            Column("experiment_id", "text"),
            Column("fingerprint", "text"),
            Column("state", "text"),
            Column("seeds", "json"),
            Column("reused_runs", "integer"),
            Column("best", "truth", lambda cell: sweep.best is not None and cell.values == sweep.best.values),
            Column("entry.method", "text"),
            Column("entry.rank", "integer"),
            *interval("entry.rank_ci", "integer"),
            Column("entry.tie_group", "integer"),
            Column("entry.n_runs", "integer"),
            Column("entry.n_diverged", "integer"),
            Column("entry.score", "number"),
            *estimate("entry.value"),
        ),
        sweep.cells,
    )


def _value_of(field: str) -> Callable[[SweepCell], Any]:
    return lambda cell: cell.values[field]

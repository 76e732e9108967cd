"""Tables of sweeps: one sweep with a row for each cell and a column for each varied field, and a list of sweeps."""

from collections.abc import Callable, Sequence
from typing import Any

from service.http.tables import Column, Table, interval
from service.leaderboards.columns import estimate
from service.sweeps.schemas import Sweep, SweepCell, SweepSummary

FILE_ROW = "A row for each cell. A varied field has a column, `values.` and the field's name, with the value as JSON."
FILE_EXAMPLE = '"sweep_id","values.norm.gain_init","experiment_id","best"\n"swp_01KAJ3…","0.1","exp_01KAJ3…",true\n'
SWEEPS_ROW = "A row for each sweep of the page; `Link` has the next page."
SWEEPS_EXAMPLE = '"id","state","n_experiments","n_runs"\n"swp_01KAJ3V1Z8Q4N7M2X5C6B9D0EH","running",2,2\n'
SUMMARY = (
    Column("id", "text"),
    Column("state", "text"),
    Column("n_experiments", "integer"),
    Column("n_runs", "integer"),
    Column("reused_runs", "integer"),
    Column("n_diverged", "integer"),
    Column("progress.done", "integer"),
    Column("progress.total", "integer"),
    Column("progress.eta_seconds", "number"),
    Column("grid", "json"),
    Column("random", "json"),
    Column("samples", "integer"),
    Column("sampler_seed", "integer"),
    Column("reuse", "truth"),
    Column("adaptive", "truth"),
    Column("created_at", "moment"),
    Column("spec", "json"),
)


def sweep_table(sweep: Sweep) -> Table:
    """Table of a sweep's cells. The tables of boards have the other columns of their entries."""
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
            Column("entry.name", "text"),
            Column("entry.rank", "integer"),
            *interval("entry.rank_ci", "integer"),
            Column("entry.tie_group", "integer"),
            Column("entry.n_runs", "integer"),
            Column("entry.n_diverged", "integer"),
            Column("entry.score", "number"),
            *estimate("entry.value"),
            Column("entry.valid_value", "number"),
            Column("entry.gap", "truth"),
        ),
        sweep.cells,
    )


def sweeps_table(sweeps: Sequence[SweepSummary]) -> Table:
    """Table of a list of sweeps. The cells of each sweep are a table of their own."""
    return Table("sweeps", SUMMARY, sweeps)


def _value_of(field: str) -> Callable[[SweepCell], Any]:
    return lambda cell: cell.values[field]

"""Tables of sweeps: one sweep with a row for each cell and a column for each varied field, and a list of sweeps."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from service.http.tables import ExportColumn, ExportTable, interval
from service.leaderboards.columns import estimate
from service.sweeps.paper import sweep_on_paper
from service.sweeps.schemas import Sweep, SweepCell, SweepSummary

FILE_ROW = "A row for each cell. A varied field has a column, `values.` and the field's name, with the value as JSON."
FILE_EXAMPLE = '"sweep_id","values.norm.gain_init","experiment_id","best"\n"swp_01KAJ3…","0.1","exp_01KAJ3…",true\n'
SWEEPS_ROW = "A row for each sweep of the page; `Link` has the next page."
SWEEPS_EXAMPLE = '"id","state","n_experiments","n_runs"\n"swp_01KAJ3V1Z8Q4N7M2X5C6B9D0EH","running",2,2\n'
SUMMARY = (
    ExportColumn("id", "text"),
    ExportColumn("state", "text"),
    ExportColumn("n_experiments", "integer"),
    ExportColumn("n_runs", "integer"),
    ExportColumn("reused_runs", "integer"),
    ExportColumn("n_diverged", "integer"),
    ExportColumn("progress.done", "integer"),
    ExportColumn("progress.total", "integer"),
    ExportColumn("progress.eta_seconds", "number"),
    ExportColumn("grid", "json"),
    ExportColumn("random", "json"),
    ExportColumn("samples", "integer"),
    ExportColumn("sampler_seed", "integer"),
    ExportColumn("reuse", "truth"),
    ExportColumn("adaptive", "truth"),
    ExportColumn("created_at", "moment"),
    ExportColumn("spec", "json"),
)


def sweep_table(sweep: Sweep) -> ExportTable:
    """Table of a sweep's cells. The tables of boards have the other columns of their entries."""
    return ExportTable(
        sweep.id,
        (
            ExportColumn("sweep_id", "text", lambda _: sweep.id),
            *(ExportColumn(f"values.{field}", "json", _value_of(field)) for field in (*sweep.grid, *sweep.random)),
            ExportColumn("experiment_id", "text"),
            ExportColumn("fingerprint", "text"),
            ExportColumn("state", "text"),
            ExportColumn("seeds", "json"),
            ExportColumn("reused_runs", "integer"),
            ExportColumn("best", "truth", lambda cell: sweep.best is not None and cell.values == sweep.best.values),
            ExportColumn("rank", "integer"),
            *interval("rank_ci", "integer"),
            ExportColumn("tie_group", "integer"),
            ExportColumn("entry.method", "text"),
            ExportColumn("entry.name", "text"),
            ExportColumn("entry.rank", "integer"),
            *interval("entry.rank_ci", "integer"),
            ExportColumn("entry.tie_group", "integer"),
            ExportColumn("entry.n_runs", "integer"),
            ExportColumn("entry.n_diverged", "integer"),
            ExportColumn("entry.score", "number"),
            *estimate("entry.value"),
            ExportColumn("entry.valid_value", "number"),
            ExportColumn("entry.gap", "truth"),
        ),
        sweep.cells,
        partial(sweep_on_paper, sweep),
    )


def sweeps_table(sweeps: Sequence[SweepSummary]) -> ExportTable:
    """Table of a list of sweeps. The cells of each sweep are a table of their own."""
    return ExportTable("sweeps", SUMMARY, sweeps)


def _value_of(field: str) -> Callable[[SweepCell], Any]:
    return lambda cell: cell.values[field]

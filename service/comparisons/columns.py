"""Table of a comparison: a row for each entry, without curves. Those are the measurements of the entries' runs."""

from functools import partial

from service.comparisons.paper import comparison_on_paper
from service.comparisons.schemas import Comparison
from service.http.tables import ExportColumn, ExportTable, interval
from service.leaderboards.columns import estimate

FILE_ROW = "A row for each entry, without curves; `/v1/runs/{run_id}/measurements` has the curves of a run."
FILE_EXAMPLE = '"task","profile","problem","fingerprint","method"\n"permuted_digits","small","7c1f…","9a2e…","none"\n'


def comparison_table(comparison: Comparison) -> ExportTable:
    """Table of a comparison's entries, without curves and survival."""
    return ExportTable(
        f"comparison-{comparison.task}-{comparison.profile}",
        (
            ExportColumn("task", "text", lambda _: comparison.task),
            ExportColumn("profile", "text", lambda _: comparison.profile),
            ExportColumn("problem", "text", lambda _: comparison.problem.id),
            ExportColumn("fingerprint", "text"),
            ExportColumn("method", "text"),
            ExportColumn("name", "text"),
            ExportColumn("baseline", "text", lambda _: comparison.baseline),
            ExportColumn("changes", "json"),
            ExportColumn("kernel", "text"),
            ExportColumn("hardware", "text"),
            ExportColumn("seeds", "json"),
            ExportColumn("runs", "json", lambda entry: [run.run_id for run in entry.runs]),
            ExportColumn("n_diverged", "integer"),
            ExportColumn("budget", "integer"),
            ExportColumn("over_budget", "truth"),
            ExportColumn("rank", "integer"),
            *interval("rank_ci", "integer"),
            ExportColumn("tie_group", "integer"),
            ExportColumn("above", "json"),
            ExportColumn("outcome", "text"),
            ExportColumn("score", "number"),
            *estimate("value"),
            ExportColumn("gap", "truth"),
            ExportColumn("difference.mean", "number"),
            *interval("difference.ci95"),
            ExportColumn("difference.p_value", "number"),
            ExportColumn("difference.p_holm", "number"),
            ExportColumn("difference.seeds", "json"),
            *_ratio("speedup.steps"),
            *_ratio("speedup.seconds_per_step"),
            *_ratio("speedup.total"),
            ExportColumn("speedup.bound", "text"),
            *_fraction("speedup.to_baselines_best"),
            *_fraction("speedup.own_best"),
        ),
        comparison.entries,
        partial(comparison_on_paper, comparison),
    )


def _ratio(name: str) -> tuple[ExportColumn, ...]:
    return ExportColumn(f"{name}.ratio", "number"), *interval(f"{name}.ci95")


def _fraction(name: str) -> tuple[ExportColumn, ...]:
    return (
        ExportColumn(f"{name}.fraction", "number"),
        *interval(f"{name}.ci95"),
        ExportColumn(f"{name}.n", "integer"),
        ExportColumn(f"{name}.bound", "text"),
    )

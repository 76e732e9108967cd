"""Table of a comparison: a row for each entry, without curves. Those are the measurements of the entries' runs."""

from service.comparisons.schemas import Comparison
from service.http.tables import Column, Table, interval
from service.leaderboards.columns import estimate

FILE_ROW = "A row for each entry, without curves; `/v1/runs/{run_id}/measurements` has the curves of a run."
FILE_EXAMPLE = '"task","profile","problem","fingerprint","method"\n"permuted_digits","small","7c1f…","9a2e…","none"\n'


def comparison_table(comparison: Comparison) -> Table:
    """Table of a comparison's entries, without curves and survival."""
    return Table(
        f"comparison-{comparison.task}-{comparison.profile}",
        (
            Column("task", "text", lambda _: comparison.task),
            Column("profile", "text", lambda _: comparison.profile),
            Column("problem", "text", lambda _: comparison.problem.id),
            Column("fingerprint", "text"),
            Column("method", "text"),
            Column("name", "text"),
            Column("baseline", "text", lambda _: comparison.baseline),
            Column("changes", "json"),
            Column("kernel", "text"),
            Column("hardware", "text"),
            Column("seeds", "json"),
            Column("runs", "json", lambda entry: [run.run_id for run in entry.runs]),
            Column("n_diverged", "integer"),
            Column("budget", "integer"),
            Column("over_budget", "truth"),
            Column("rank", "integer"),
            *interval("rank_ci", "integer"),
            Column("tie_group", "integer"),
            Column("above", "json"),
            Column("outcome", "text"),
            Column("score", "number"),
            *estimate("value"),
            Column("gap", "truth"),
            Column("difference.mean", "number"),
            *interval("difference.ci95"),
            Column("difference.p_value", "number"),
            Column("difference.p_holm", "number"),
            Column("difference.seeds", "json"),
            *_ratio("speedup.steps"),
            *_ratio("speedup.seconds_per_step"),
            *_ratio("speedup.total"),
            Column("speedup.bound", "text"),
            *_fraction("speedup.to_baselines_best"),
            *_fraction("speedup.own_best"),
        ),
        comparison.entries,
    )


def _ratio(name: str) -> tuple[Column, ...]:
    return Column(f"{name}.ratio", "number"), *interval(f"{name}.ci95")


def _fraction(name: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}.fraction", "number"),
        *interval(f"{name}.ci95"),
        Column(f"{name}.n", "integer"),
        Column(f"{name}.bound", "text"),
    )

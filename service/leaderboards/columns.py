"""Tables of boards: one board with a row for each entry, and all boards together with a row for each method."""

from functools import partial

from normcore.spec.tasks import BENCHMARKS
from service.http.tables import ExportColumn, ExportTable, interval
from service.leaderboards.paper import board_on_paper, overall_on_paper
from service.leaderboards.schemas import Leaderboard, Overall

FILE_ROW = "A row for each entry."
FILE_EXAMPLE = '"task","profile","problem","rank","method"\n"permuted_digits","small","7c1f…",1,"layer_norm"\n'
OVERALL_ROW = "A row for each method. Every task has columns; they are empty if the method has no time on the task."
OVERALL_EXAMPLE = '"profile","rank_by","rank","method","area"\n"small","steps_to_target",1,"layer_norm",0.93\n'


def board_table(board: Leaderboard) -> ExportTable:
    """Table of all that a board says about its entries. Each row names the board, too."""
    metrics = [metric.name for metric in BENCHMARKS[board.task].metrics]
    return ExportTable(
        f"{board.task}-{board.profile}",
        (
            ExportColumn("task", "text", lambda _: board.task),
            ExportColumn("profile", "text", lambda _: board.profile),
            ExportColumn("problem", "text", lambda _: board.problem.id),
            ExportColumn("rank", "integer"),
            *interval("rank_ci", "integer"),
            ExportColumn("tie_group", "integer"),
            ExportColumn("method", "text"),
            ExportColumn("name", "text"),
            ExportColumn("source", "text"),
            ExportColumn("split", "text"),
            ExportColumn("fingerprint", "text"),
            ExportColumn("result_id", "text"),
            ExportColumn("state", "text"),
            ExportColumn("provenance", "json"),
            ExportColumn("citation", "text"),
            ExportColumn("model", "text"),
            ExportColumn("origin", "text"),
            ExportColumn("note", "text"),
            ExportColumn("budget", "integer"),
            ExportColumn("over_budget", "truth"),
            ExportColumn("changes", "json"),
            ExportColumn("kernel", "text"),
            ExportColumn("hardware", "text"),
            ExportColumn("code", "text"),
            ExportColumn("n_runs", "integer"),
            ExportColumn("n_older", "integer"),
            ExportColumn("of_older_code", "truth"),
            ExportColumn("older_parts", "json"),
            ExportColumn("n_seeds", "integer"),
            ExportColumn("n_diverged", "integer"),
            *interval("diverged_ci95"),
            ExportColumn("score", "number"),
            *estimate("value"),
            ExportColumn("valid_value", "number"),
            ExportColumn("gap", "truth"),
            ExportColumn("too_few_seeds", "truth"),
            *(column for metric in metrics for column in estimate(f"values.{metric}")),
            ExportColumn("conflicting_seeds", "json"),
            ExportColumn("contended", "integer"),
            ExportColumn("best_of", "integer"),
            *_time("steps_to_target"),
            *_time("seconds_to_target"),
            ExportColumn("speedup.baseline", "text"),
            ExportColumn("speedup.steps", "number"),
            ExportColumn("speedup.seconds", "number"),
            *interval("speedup.ci95"),
            ExportColumn("speedup.bound", "text"),
            ExportColumn("experiments", "json"),
        ),
        board.entries,
        partial(board_on_paper, board),
    )


def overall_table(overall: Overall) -> ExportTable:
    """Table of the overall board, without the curves of the methods: these follow from the ratios."""
    return ExportTable(
        f"overall-{overall.profile}",
        (
            ExportColumn("profile", "text", lambda _: overall.profile),
            ExportColumn("rank_by", "text", lambda _: overall.rank_by),
            ExportColumn("rank", "integer"),
            ExportColumn("method", "text"),
            ExportColumn("area", "number"),
            ExportColumn("fastest", "integer"),
            *(ExportColumn(f"times.{task}", "number") for task in BENCHMARKS),
            *(ExportColumn(f"ratios.{task}", "number") for task in BENCHMARKS),
            ExportColumn("untried", "json"),
        ),
        overall.methods,
        partial(overall_on_paper, overall),
    )


def estimate(name: str) -> tuple[ExportColumn, ...]:
    """Columns of a metric's statistics over the seeds."""
    return (
        ExportColumn(f"{name}.mean", "number"),
        ExportColumn(f"{name}.std", "number"),
        *interval(f"{name}.ci95"),
        ExportColumn(f"{name}.n", "integer"),
        ExportColumn(f"{name}.iqm", "number"),
    )


def _time(name: str) -> tuple[ExportColumn, ...]:
    return (
        ExportColumn(f"{name}.median", "number"),
        ExportColumn(f"{name}.reached", "integer"),
        *interval(f"{name}.ci95"),
        ExportColumn(f"{name}.restricted_mean", "number"),
        ExportColumn(f"{name}.tau", "number"),
    )

"""Tables of boards: one board with a row for each entry, and all boards together with a row for each method."""

from normcore.spec.tasks import BENCHMARKS
from service.http.tables import Column, Table, interval
from service.leaderboards.schemas import Leaderboard, Overall

FILE_ROW = "A row for each entry."
FILE_EXAMPLE = '"task","profile","problem","rank","method"\n"permuted_digits","small","7c1f…",1,"layer_norm"\n'
OVERALL_ROW = "A row for each method. Every task has columns; they are empty if the method has no time on the task."
OVERALL_EXAMPLE = '"profile","rank_by","rank","method","area"\n"small","steps_to_target",1,"layer_norm",0.93\n'


def board_table(board: Leaderboard) -> Table:
    """Table of all that a board says about its entries. Each row names the board, too."""
    metrics = [metric.name for metric in BENCHMARKS[board.task].metrics]
    return Table(
        f"{board.task}-{board.profile}",
        (
            Column("task", "text", lambda _: board.task),
            Column("profile", "text", lambda _: board.profile),
            Column("problem", "text", lambda _: board.problem.id),
            Column("rank", "integer"),
            *interval("rank_ci", "integer"),
            Column("tie_group", "integer"),
            Column("method", "text"),
            Column("name", "text"),
            Column("source", "text"),
            Column("split", "text"),
            Column("fingerprint", "text"),
            Column("result_id", "text"),
            Column("state", "text"),
            Column("provenance", "json"),
            Column("citation", "text"),
            Column("model", "text"),
            Column("origin", "text"),
            Column("note", "text"),
            Column("budget", "integer"),
            Column("over_budget", "truth"),
            Column("changes", "json"),
            Column("kernel", "text"),
            Column("hardware", "text"),
            Column("code", "text"),
            Column("n_runs", "integer"),
            Column("n_older", "integer"),
            Column("of_older_code", "truth"),
            Column("older_parts", "json"),
            Column("n_seeds", "integer"),
            Column("n_diverged", "integer"),
            *interval("diverged_ci95"),
            Column("score", "number"),
            *estimate("value"),
            Column("valid_value", "number"),
            Column("gap", "truth"),
            Column("too_few_seeds", "truth"),
            *(column for metric in metrics for column in estimate(f"values.{metric}")),
            Column("conflicting_seeds", "json"),
            Column("contended", "integer"),
            Column("best_of", "integer"),
            *_time("steps_to_target"),
            *_time("seconds_to_target"),
            Column("speedup.baseline", "text"),
            Column("speedup.steps", "number"),
            Column("speedup.seconds", "number"),
            *interval("speedup.ci95"),
            Column("speedup.bound", "text"),
            Column("experiments", "json"),
        ),
        board.entries,
    )


def overall_table(overall: Overall) -> Table:
    """Table of the overall board, without the curves of the methods: these follow from the ratios."""
    return Table(
        f"overall-{overall.profile}",
        (
            Column("profile", "text", lambda _: overall.profile),
            Column("rank_by", "text", lambda _: overall.rank_by),
            Column("rank", "integer"),
            Column("method", "text"),
            Column("area", "number"),
            Column("fastest", "integer"),
            *(Column(f"times.{task}", "number") for task in BENCHMARKS),
            *(Column(f"ratios.{task}", "number") for task in BENCHMARKS),
            Column("untried", "json"),
        ),
        overall.methods,
    )


def estimate(name: str) -> tuple[Column, ...]:
    """Columns of a metric's statistics over the seeds."""
    return (
        Column(f"{name}.mean", "number"),
        Column(f"{name}.std", "number"),
        *interval(f"{name}.ci95"),
        Column(f"{name}.n", "integer"),
        Column(f"{name}.iqm", "number"),
    )


def _time(name: str) -> tuple[Column, ...]:
    return (
        Column(f"{name}.median", "number"),
        Column(f"{name}.reached", "integer"),
        *interval(f"{name}.ci95"),
        Column(f"{name}.restricted_mean", "number"),
        Column(f"{name}.tau", "number"),
    )

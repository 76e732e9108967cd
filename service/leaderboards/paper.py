"""Tables of boards for papers, and words that tables of other rooms share."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from normcore.spec.metric import is_share
from service import wording
from service.leaderboards.entry import Estimate
from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import Entry, Leaderboard, MethodProfile, Overall, Problem, Speedup
from service.leaderboards.standing import standing_of
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells, without_empty_columns
from service.statistics.values import Interval

OWN = "the profile's own"  # title of the problem that a profile names
TIES = "Entries with the same rank tie at 5% (Holm); in brackets: the ranks that an entry may have (95%)."
BOLD = "Bold: the best, and what ties with it."


# -- words of all tables ---------------------------------------------------------------------------


def name_metric(metric: str, unit: str | None, split: str = "Test") -> str:
    """Head of a column of values, with their unit: Test accuracy (%)."""
    shown = "%" if is_share(metric) else unit
    return f"{split} {metric.replace('_', ' ')}{f' ({shown})' if shown else ''}"


def write_value(number: float | None, metric: str) -> str:
    """Value of a metric without its unit, which the head of the column has."""
    return wording.value(number, metric).removesuffix("%")


def write_limits(limits: Interval | None, metric: str) -> str:
    return wording.DASH if limits is None else wording.interval(limits, metric)


def describe_seeds(counts: Collection[int]) -> str:
    """Numbers of seeds in a caption: n = 4 seeds, or n = 3 to 5 seeds."""
    least, most = min(counts), max(counts)
    told = f"n = {wording.count(least, 'seed')}" if least == most else f"n = {least} to {most} seeds"
    return told.replace(" ", wording.UNBROKEN, 2)


def describe_means(counts: Collection[int], *, interval: bool = True) -> str:
    """Sentence on the values of a table, with a space before it; empty if there are no values."""
    if not counts:
        return ""
    between = " with its 95% confidence interval" if interval else ""
    return f" Mean over {describe_seeds(counts)}{between}."


def write_seeds(n_seeds: int, n_diverged: int) -> str:
    """Number of seeds, and how many of them diverged."""
    return f"{n_seeds} ({n_diverged} diverged)" if n_diverged else str(n_seeds)


def describe_board(task: str, profile: str, problem: Problem) -> str:
    """Task, profile and problem in words."""
    return f"{task} ({profile}{'' if problem.title == OWN else f', {problem.title}'})"


def write_day(at: datetime | None = None) -> str:
    """Day of a table, the present day for None: 29 Nov 2026."""
    return wording.moment(at or datetime.now(UTC)).partition(",")[0]


def estimate_cells(value: Estimate | None, metric: str, *, strong: bool = False) -> list[PaperCell]:
    """Cells of a mean and of its interval."""
    if value is None:
        return cells(wording.DASH, wording.DASH)
    return [PaperCell(write_value(value.mean, metric), strong), PaperCell(write_limits(value.ci95, metric))]


# -- one board -------------------------------------------------------------------------------------


def board_on_paper(board: Leaderboard) -> list[PaperTable]:
    """Table of a board: a row for each entry, tie groups apart, the best entries in bold."""
    where = describe_board(board.task, board.profile, board.problem)
    counts = [entry.n_seeds for entry in board.entries if entry.source == "measured"]
    notes = [TIES, BOLD] if _find_best(board) else ["Too few seeds to rank."] if counts else []
    if counts and board.target is not None:
        notes.append(_describe_times(board))
    caption = f"Results on {where}.{describe_means(counts)} {' '.join(notes)}".rstrip()
    table = PaperTable(
        f"{board.task}-{board.profile}",
        f"{caption} normbench, {write_day(board.as_of)}.",
        [
            PaperColumn("Rank", "left"),
            PaperColumn("Method", "left"),
            PaperColumn(name_metric(board.metric, board.unit)),
            PaperColumn("95% interval"),
            PaperColumn("n"),
            PaperColumn(f"{_unit_of_time(board.rank_by)} to {wording.level(board.target, board.metric)}"),
            PaperColumn("Speed-up"),
        ],
        list(_groups(board)),
        f"No entries on {where} yet.",
    )
    return [without_empty_columns(table, wording.DASH, always=5)]


def _describe_times(board: Leaderboard) -> str:
    target = wording.level(board.target, board.metric)
    return f"{_unit_of_time(board.rank_by)} to {target} on validation data: medians; speed-ups over {board.baseline}."


def _unit_of_time(rank_by: RankBy) -> str:
    return "Seconds" if rank_by == "seconds_to_target" else "Steps"


def _groups(board: Leaderboard) -> Iterator[RowGroup]:
    """Rows of each tie group, then rows without a rank by the reason for it."""
    best = _find_best(board)
    listed: dict[tuple[str, int | None], list[list[PaperCell]]] = {}
    for entry in board.entries:
        title = _title(entry)
        group = None if title else entry.tie_group
        listed.setdefault((title, group), []).append(_row(board, entry, entry in best))
    titles = list(dict.fromkeys(title for title, _ in listed))
    for title in sorted(titles, key=bool):
        found = [rows for (one, _), rows in listed.items() if one == title]
        yield from (RowGroup(rows, title if k == 0 else "") for k, rows in enumerate(found))


def _find_best(board: Leaderboard) -> list[Entry]:
    """Find the measured entries of the first tie group that has enough seeds."""
    enough = [
        entry
        for entry in board.entries
        if entry.source == "measured" and entry.rank and entry.tie_group and not entry.too_few_seeds and entry.value
    ]
    first = min((entry.tie_group or 0 for entry in enough), default=0)
    return [entry for entry in enough if entry.tie_group == first]


def _title(entry: Entry) -> str:
    if entry.of_older_code:
        return "Of older code, without a rank"
    if entry.over_budget and entry.rank is None:
        return "Over the profile's budget, without a rank"
    if entry.source == "submitted":
        return "Claimed: measured elsewhere"
    if entry.source == "published":
        return "Published in papers"
    return ""


def _row(board: Leaderboard, entry: Entry, is_best: bool) -> list[PaperCell]:
    by_metric = board.rank_by == "metric"
    measured = entry.source == "measured"
    lost = entry.n_diverged and entry.n_diverged == entry.n_seeds
    value = cells("diverged", wording.DASH) if lost else estimate_cells(entry.value, board.metric)
    return [
        PaperCell(_rank(board, entry)),
        PaperCell(entry.name),
        PaperCell(value[0].text, is_best and by_metric),
        value[1],
        PaperCell(write_seeds(entry.n_seeds, entry.n_diverged) if measured or entry.n_seeds else wording.DASH),
        PaperCell(_time(board, entry) if measured else wording.DASH, is_best and not by_metric),
        PaperCell(_speedup(entry.speedup, board.rank_by)),
    ]


def _rank(board: Leaderboard, entry: Entry) -> str:
    place = standing_of(board, entry)
    if entry.too_few_seeds or place.shared_rank is None:
        return wording.DASH
    low, high = entry.rank_ci or (place.shared_rank, place.shared_rank)
    return str(place.shared_rank) if low == high else f"{place.shared_rank} ({wording.rank_interval((low, high))})"


def _time(board: Leaderboard, entry: Entry) -> str:
    times = entry.seconds_to_target if board.rank_by == "seconds_to_target" else entry.steps_to_target
    if times is None or board.target is None:
        return wording.DASH
    if times.median is None:
        return "never" if times.reached == 0 else f"{times.reached} of {entry.n_seeds} seeds"
    written: Callable[[float | None], str] = wording.steps
    if board.rank_by == "seconds_to_target":
        written = wording.seconds
    return written(times.median)


def _speedup(speedup: Speedup | None, rank_by: RankBy) -> str:
    ratio = None if speedup is None else speedup.seconds if rank_by == "seconds_to_target" else speedup.steps
    if speedup is None or ratio is None:
        return wording.DASH
    return f"{speedup.bound} {wording.ratio(ratio)}" if speedup.bound else wording.ratio(ratio)


# -- all boards ------------------------------------------------------------------------------------


def overall_on_paper(overall: Overall) -> list[PaperTable]:
    """Table of the overall board: a row for each method, a column for each task that counts."""
    tasks = [one.task for one in overall.tasks]
    most = min((one.rank for one in overall.methods), default=0)
    unit = "steps" if overall.rank_by == "steps_to_target" else "seconds"
    caption = (
        f"Methods over {wording.count(len(tasks), 'task')} ({overall.profile}), by {unit} to the target: area under the"
        f" performance profile, and each time divided by the fastest method's (1 is the fastest; medians over seeds)."
        f" Bold: the largest area. {overall.caution} normbench, {write_day()}."
    )
    columns = [PaperColumn("Rank", "left"), PaperColumn("Method", "left"), PaperColumn("Area"), PaperColumn("Fastest")]
    rows = [_method_row(one, tasks, one.rank == most) for one in overall.methods]
    columns += [PaperColumn(task) for task in tasks]
    empty = f"No method has reached a target at {overall.profile} yet."
    return [PaperTable(f"overall-{overall.profile}", caption, columns, [RowGroup(rows)], empty)]


def _method_row(method: MethodProfile, tasks: Sequence[str], is_best: bool) -> list[PaperCell]:
    ratios = [wording.DASH if (ratio := method.ratios.get(task)) is None else f"{ratio:.2f}" for task in tasks]
    area = PaperCell(f"{method.area:.3f}", is_best)
    return [*cells(str(method.rank), method.method), area, *cells(str(method.fastest), *ratios)]

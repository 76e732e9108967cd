"""Figures of boards and comparisons as Plotly JSON, for API and pages."""

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from normcore.figures import Figure, Theme
from normcore.figures.intervals import Interval, intervals
from normcore.figures.method_curves import MethodLine, method_curves
from normcore.figures.profiles import ProfileCurve, profiles
from normcore.figures.survival import Stairs, survival
from normcore.spec.metric import is_share
from service.comparisons import queries
from service.comparisons.schemas import ComparedEntry, Comparison, Curve, EntryCurves, Ratio
from service.experiments.downsampling import spread
from service.leaderboards.schemas import Entry, Leaderboard, Overall
from service.statistics.times import TimeUnit

OF_ALL_BOARDS = ("profiles",)
OF_BOARDS = ("curves", "intervals")
OF_COMPARISONS = ("curves", "differences", "speedups", "survival")
MAX_LINES = 8
MAX_POINTS = 400  # of a line
AXES: Mapping[TimeUnit, str] = {"steps": "training steps", "seconds": "training seconds"}


def of_board(session: Session, board: Leaderboard, name: str, by: TimeUnit, theme: Theme) -> Figure:
    """Draw a figure of a board; ``name`` is one of ``OF_BOARDS``."""
    if name == "curves":
        curved = queries.read_curves(
            session, [entry.fingerprint for entry in choose_drawn_entries(board) if entry.fingerprint]
        )
        return curves(curved, board.metric, board.target, by, theme)
    return _values(board, theme)


def of_comparison(comparison: Comparison, name: str, by: TimeUnit, theme: Theme) -> Figure:
    """Draw a figure of a comparison; ``name`` is one of ``OF_COMPARISONS``."""
    if name == "curves":
        curved = [extract_curves(entry) for entry in comparison.entries]
        return curves(curved, comparison.series.rpartition(".")[2], comparison.target, by, theme)
    if name == "differences":
        return _differences(comparison, theme)
    if name == "speedups":
        return _speedups(comparison, theme)
    stairs = [Stairs(e.name, e.method, [(at, left) for at, left, *_ in e.survival]) for e in comparison.entries]
    return survival(stairs, theme)


def of_all_boards(overall: Overall, theme: Theme) -> Figure:
    """Draw the performance profiles of all methods."""
    return profiles([ProfileCurve(method.method, method.profile) for method in overall.methods], theme)


def choose_drawn_entries(board: Leaderboard) -> list[Entry]:
    """Choose the measured entries whose curves are drawn: the best ones within the budget, eight at most."""
    measured = [entry for entry in board.entries if entry.source == "measured" and not entry.over_budget]
    return measured[:MAX_LINES]


def curves(curved: Sequence[EntryCurves], metric: str, target: float | None, by: TimeUnit, theme: Theme) -> Figure:
    """Draw learning curves of entries. A curve ends where the first seed of its entry ends."""
    lines = [_line(entry, by) for entry in curved if entry.curve.steps]
    title = f"validation {metric.replace('_', ' ')}"
    return method_curves(
        lines, theme, title="Learning curves", x=AXES[by], y=title, target=target, percent=is_share(metric)
    )


def extract_curves(entry: ComparedEntry) -> EntryCurves:
    """Curves of a compared entry, without the entry's other results."""
    first_end = min((run.points[-1][0] for run in entry.runs if run.points), default=0)
    return EntryCurves(
        fingerprint=entry.fingerprint,
        method=entry.method,
        changes=entry.changes,
        curve=entry.curve,
        curve_by_seconds=entry.curve_by_seconds,
        first_end=first_end,
        n_seeds=len(entry.seeds),
        n_diverged=entry.n_diverged,
    )


def _line(entry: EntryCurves, by: TimeUnit) -> MethodLine:
    curve = entry.curve if by == "steps" else entry.curve_by_seconds
    kept = choose_points(curve, entry.first_end if by == "steps" else None)
    x = curve.steps if by == "steps" else curve.seconds
    return MethodLine(
        name=entry.name,
        method=entry.method,
        x=[_round_number(x[k]) for k in kept],
        mean=[_round_number(curve.mean[k]) for k in kept],
        low=[_round_or_none(curve.low[k]) for k in kept],
        high=[_round_or_none(curve.high[k]) for k in kept],
        seeds=entry.n_seeds,
        diverged=entry.n_diverged,
    )


def choose_points(curve: Curve, end: int | None = None, most: int = MAX_POINTS) -> list[int]:
    """Choose the points of a curve that are shown, by index: evenly spread, with the first and the last point.

    Args:
        end: the last step that may be shown; None for no limit.
        most: largest number of points.
    """
    count = len(curve.steps) if end is None else sum(step <= end for step in curve.steps)
    return spread(range(count), most)


def _round_number(number: float) -> float:
    """Round to five significant digits, which is finer than a pixel."""
    return float(f"{number:.5g}")


def _round_or_none(number: float | None) -> float | None:
    return None if number is None else _round_number(number)


def _values(board: Leaderboard, theme: Theme) -> Figure:
    rows = [
        Interval(entry.name, entry.method, entry.value.mean, entry.value.ci95, filled=entry.source == "measured")
        for entry in board.entries
        if entry.value is not None and entry.method is not None
    ]
    baseline = next((row.mean for row in rows if row.method == board.baseline and row.filled), None)
    title = f"test {board.metric.replace('_', ' ')}"
    return intervals(
        rows, theme, title=f"{board.task}, {board.profile}", x=title, line=baseline, percent=is_share(board.metric)
    )


def _differences(comparison: Comparison, theme: Theme) -> Figure:
    rows = [
        Interval(entry.name, entry.method, entry.difference.mean, entry.difference.ci95)
        for entry in comparison.entries
        if entry.difference is not None
    ]
    metric = comparison.series.rpartition(".")[2]
    title = f"Differences in test {metric.replace('_', ' ')}"
    return intervals(rows, theme, title=title, x="difference from the baseline", line=0.0, percent=is_share(metric))


def _speedups(comparison: Comparison, theme: Theme) -> Figure:
    rows = [
        Interval(f"{entry.name}: {what}", entry.method, ratio.ratio, ratio.ci95)
        for entry in comparison.entries
        for what, ratio in _parts(entry)
        if ratio.ratio is not None
    ]
    return intervals(rows, theme, title="Speed-ups, split", x="times sooner than the baseline", line=1.0, log=True)


def _parts(entry: ComparedEntry) -> list[tuple[str, Ratio]]:
    found = entry.speedup
    if found is None:
        return []
    return [("in seconds", found.total), ("in steps", found.steps), ("speed of a step", found.seconds_per_step)]

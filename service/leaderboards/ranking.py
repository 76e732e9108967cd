"""Ranking of a board: plain values in, plain values out."""

from collections.abc import Sequence
from typing import Literal

from normcore.spec.metric import Direction
from service.leaderboards.entry import PooledTimes, RunResult, converged_values, times_of
from service.statistics.differences import pairs
from service.statistics.order import Board, Key, RankEstimate, board
from service.statistics.times import TimeUnit, restricted_mean, time_pairs

TimeBy = Literal["steps_to_target", "seconds_to_target"]
RankBy = Literal["metric", "steps_to_target", "seconds_to_target"]


def rank_by_value(
    keys: Sequence[Key | None], results: Sequence[Sequence[RunResult]], direction: Direction
) -> Sequence[RankEstimate]:
    """Ranks of entries by score. Their differences are tested on the values of the seeds that converged."""
    return order_by_value(keys, results, direction).ranks


def order_by_value(keys: Sequence[Key | None], results: Sequence[Sequence[RunResult]], direction: Direction) -> Board:
    """Order of entries by score: ranks as in ``rank_by_value``, and the p-value and result for every two entries."""
    values = [converged_values(own) for own in results]
    return board(keys, direction, pairs(values))


def rank_by_time(
    keys: Sequence[Key | None], results: Sequence[Sequence[RunResult]], by: TimeUnit
) -> Sequence[RankEstimate]:
    """Ranks of entries by time to the target. Their differences are tested on the times of the seeds."""
    return board(keys, "minimize", time_pairs([times_of(own, by) for own in results])).ranks


def key_of_time(times: PooledTimes, tau: float | None) -> Key | None:
    """Sort key of an entry's times: the median. Entries that do not reach the target in half of their seeds follow,
    by their restricted mean.
    """
    if times.median is not None:
        return 0.0, times.median
    return (1.0, restricted_mean(times.left, tau)) if times.left and tau is not None else None


def tau_of_steps(results: Sequence[Sequence[RunResult]]) -> float | None:
    """Number of steps at which restricted means cut longer times: the smallest ``max_steps`` of any run."""
    return min((float(run.max_steps) for own in results for run in own), default=None)


def tau_of_seconds(results: Sequence[Sequence[RunResult]]) -> float | None:
    """Seconds at which restricted means cut longer times: the longest time of each entry with a seed that missed the
    target, and of these the smallest. If no seed missed the target, the longest of all times."""
    of_entries = [times_of(own, "seconds").values() for own in results]
    watched = [max(run.time for run in own) for own in of_entries if not all(run.reached for run in own)]
    return min(watched) if watched else max((run.time for own in of_entries for run in own), default=None)

"""How many times sooner an entry is at the target than the baseline: in steps, in seconds a step, and in all."""

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from normcore.target import Time
from service.statistics.differences import pair
from service.statistics.spread import check_times
from service.statistics.values import Interval, of_exp

Bound = Literal["at least", "at most"]


class Ratio(NamedTuple):
    """The baseline's over the own, geometric means."""

    ratio: float
    ci95: Interval | None


class Speedup(NamedTuple):
    """``total`` is ``steps`` times ``seconds_per_step``.

    Attributes:
        seeds: how many both have.
        bound: whether a missed target makes the ratios bounds.
    """

    seeds: int
    bound: Bound | None
    steps: Ratio | None
    seconds_per_step: Ratio | None
    total: Ratio | None


def speedup(baseline: Mapping[int, Time], own: Mapping[int, Time]) -> Speedup:
    """Of times by seed; misses enter with the time at which one stopped looking.

    Returns:
        No ratios where both miss the target, where a time is 0, or where there is no seed.

    Raises:
        ValueError: a time is NaN or negative.
    """
    runs = [*baseline.values(), *own.values()]
    check_times(time for run in runs for time in (run.steps, run.seconds))
    baseline_misses, own_misses = (not all(run.reached for run in part.values()) for part in (baseline, own))
    seeds = len(baseline.keys() & own.keys())
    if not baseline or not own or (baseline_misses and own_misses):
        return Speedup(seeds, None, None, None, None)
    bound: Bound | None = "at least" if baseline_misses else "at most" if own_misses else None
    if not all(run.steps and run.seconds for run in runs):
        return Speedup(seeds, bound, None, None, None)

    def ratio(log: Callable[[Time], float]) -> Ratio:
        theirs, ours = ({seed: log(run) for seed, run in part.items()} for part in (baseline, own))
        found = pair(theirs, ours)
        mean = statistics.fmean(theirs.values()) - statistics.fmean(ours.values()) if found is None else found.mean
        return Ratio(math.exp(mean), None if bound or found is None else of_exp(found.ci95))

    return Speedup(
        seeds,
        bound,
        steps=ratio(lambda run: math.log(run.steps)),
        seconds_per_step=ratio(lambda run: math.log(run.seconds) - math.log(run.steps)),
        total=ratio(lambda run: math.log(run.seconds)),
    )

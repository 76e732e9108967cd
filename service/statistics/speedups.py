"""Speed-up of an entry over the baseline, to the target: in steps, in seconds per step, and in total seconds."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from normcore.target import Time
from service.statistics.differences import MeanDifference, each_pair
from service.statistics.spread import check_times
from service.statistics.values import Interval, of_exp

Bound = Literal["at least", "at most"]


class Ratio(NamedTuple):
    """Ratio of times: the baseline's divided by the entry's, as geometric means over the seeds."""

    ratio: float
    ci95: Interval | None


class SpeedupEstimate(NamedTuple):
    """Speed-up of an entry over the baseline. ``total`` is ``steps`` times ``seconds_per_step``.

    Attributes:
        seeds: number of seeds that both have.
        bound: whether the ratios are only bounds, because a seed missed the target; None if they are exact.
        steps, seconds_per_step, total: ratios in steps, in seconds per step, and in seconds.
    """

    seeds: int
    bound: Bound | None
    steps: Ratio | None
    seconds_per_step: Ratio | None
    total: Ratio | None


NONE = SpeedupEstimate(0, None, None, None, None)


def speedup(baseline: Mapping[int, Time], own: Mapping[int, Time]) -> SpeedupEstimate:
    """Speed-up from times by seed. A seed that missed the target enters with the length of its run.

    Returns:
        A speed-up without ratios if both the baseline and the entry have a seed that missed the target, if a time is
        0, or if one of the two has no seed.

    Raises:
        ValueError: a time is NaN or negative.
    """
    return speedups([(baseline, own)])[0]


def speedups(pairs: Sequence[tuple[Mapping[int, Time], Mapping[int, Time]]]) -> list[SpeedupEstimate]:
    """Speed-ups of several pairs (baseline, entry), each as ``speedup`` computes it.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times(time for pair in pairs for part in pair for run in part.values() for time in (run.steps, run.seconds))
    common = [len(baseline.keys() & own.keys()) for baseline, own in pairs]
    found = [NONE._replace(seeds=n, bound=_bound(*pair)) for n, pair in zip(common, pairs, strict=True)]
    known = [k for k, pair in enumerate(pairs) if _is_known(*pair)]
    of_log = [_ratios([pairs[k] for k in known], [found[k].bound for k in known], log) for log in LOGS]
    for k, steps, seconds_per_step, total in zip(known, *of_log, strict=True):
        found[k] = found[k]._replace(steps=steps, seconds_per_step=seconds_per_step, total=total)
    return found


LOGS: Sequence[Callable[[Time], float]] = (
    lambda run: math.log(run.steps),
    lambda run: math.log(run.seconds) - math.log(run.steps),
    lambda run: math.log(run.seconds),
)


def _bound(baseline: Mapping[int, Time], own: Mapping[int, Time]) -> Bound | None:
    if not baseline or not own:
        return None
    baseline_misses, own_misses = (not all(run.reached for run in part.values()) for part in (baseline, own))
    if baseline_misses == own_misses:
        return None
    return "at least" if baseline_misses else "at most"


def _is_known(baseline: Mapping[int, Time], own: Mapping[int, Time]) -> bool:
    """Tell if the ratios exist: both have seeds, at least one of the two reaches the target in all seeds, and no
    time is 0.
    """
    reach = any(all(run.reached for run in part.values()) for part in (baseline, own))
    timed = all(run.steps and run.seconds for part in (baseline, own) for run in part.values())
    return bool(baseline) and bool(own) and reach and timed


def _ratios(
    pairs: Sequence[tuple[Mapping[int, Time], Mapping[int, Time]]],
    bounds: Sequence[Bound | None],
    log: Callable[[Time], float],
) -> list[Ratio]:
    theirs, ours = ([{seed: log(run) for seed, run in pair[side].items()} for pair in pairs] for side in (0, 1))
    return [
        _ratio(found, bound, baseline, own)
        for found, bound, baseline, own in zip(each_pair(theirs, ours), bounds, theirs, ours, strict=True)
    ]


def _ratio(
    found: MeanDifference | None, bound: Bound | None, theirs: Mapping[int, float], ours: Mapping[int, float]
) -> Ratio:
    if found is None:
        return Ratio(math.exp(statistics.fmean(theirs.values()) - statistics.fmean(ours.values())), None)
    return Ratio(math.exp(found.mean), None if bound else of_exp(found.ci95))

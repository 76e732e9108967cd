"""Times to a target, of curves that may never get there."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple

from normcore.ranks import rank_below_median
from normcore.spec.metric import Direction
from normcore.target import HELD, Aim, Point, Time
from service.statistics.differences import Pairs, pair, pairs
from service.statistics.spread import LEVEL, check_numbers, check_points, check_times, gain, has_spread
from service.statistics.values import Interval, interval, of_exp, share_interval

RANKS_FROM = 6  # times, whose order alone gives an interval of their median
HALF, ROUNDING = 0.5, 1e-12

TimeUnit = Literal["steps", "seconds"]


class Fraction(NamedTuple):
    """Own time over the baseline's: the geometric mean over ``n`` seeds.

    Attributes:
        ci95: by Student's t on the logarithms; None of one seed, or where a run missed the level.
        bound: ``at least`` if a run missed it, so that its time would be longer.
    """

    fraction: float
    ci95: tuple[float, float] | None
    n: int
    bound: Literal["at least"] | None


class Times(NamedTuple):
    """Over the seeds.

    Attributes:
        median: None if it is not known to be reached.
        reached: how many did.
        ci95: of the median; a limit of None is not known.
        restricted_mean: of the times up to ``tau`` (Royston and Parmar 2013).
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    restricted_mean: float | None


class Run(NamedTuple):
    """A seed's time, and whether the target was reached then; of a miss, when one stopped looking."""

    time: float
    reached: bool


class TimeDifference(NamedTuple):
    """Difference of log times of two entries, cut at ``tau``, the first censoring time.

    Attributes:
        tau: the first time at which one stopped looking; None if all reached the target.
    """

    tau: float | None
    mean: float
    p_value: float
    seeds: int


def time_to_target(points: Sequence[Point], target: float, direction: Direction, k: int = HELD) -> Time:
    """Time when a curve first reaches a target and holds it for ``k`` evaluations, linear between two of them.

    Args:
        points: in the order of their steps.

    Raises:
        ValueError: a value or the target is NaN, or a time is negative.
    """
    check_points(points)
    check_numbers([target])
    aim = Aim(target, direction, k)
    for point in points:
        aim.note(point)
    return aim.time


def times(times: Sequence[float], reached: Sequence[bool], tau: float) -> Times:
    """Pool one time a seed.

    Args:
        times: those of misses are when one stopped looking.
        tau: up to where times are averaged.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times([*times, tau])
    if not times:
        return Times(None, 0, None, None)
    curve = kaplan_meier(times, reached)
    return Times(_median(curve), sum(reached), _interval_of_median(times, reached), restricted_mean(curve, tau))


def survival(left: int, n: int) -> tuple[float, float, float]:
    """The share of ``n`` seeds, one or more, that have not reached the target yet, and its interval."""
    interval = share_interval(left, n)
    assert interval is not None
    return left / n, *interval


def time_pair(a: Mapping[int, Run], b: Mapping[int, Run]) -> TimeDifference | None:
    """log a - log b of times by seed, none counted beyond the first time at which one stopped looking.

    Returns:
        None where there are too few seeds, or somebody stopped at once.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times(run.time for run in (*a.values(), *b.values()))
    tau = min(_first_miss(a), _first_miss(b))
    if any(run.time == 0 for run in (*a.values(), *b.values())):
        return None
    log_a, log_b = ({seed: math.log(min(run.time, tau)) for seed, run in part.items()} for part in (a, b))
    found = pair(log_a, log_b)
    if found is None:
        return None
    return TimeDifference(tau if math.isfinite(tau) else None, found.mean, found.p_value, found.seeds)


def time_pairs(times: Sequence[Mapping[int, Run]]) -> Pairs:
    """Differences of each two entries, as ``time_pair`` computes them.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times(run.time for own in times for run in own.values())
    known = [own if all(run.time for run in own.values()) else {} for own in times]
    logs = [{seed: math.log(run.time) for seed, run in own.items()} for own in known]
    return pairs(logs, [math.log(_first_miss(own)) for own in known])


def _first_miss(runs: Mapping[int, Run]) -> float:
    return min((run.time for run in runs.values() if not run.reached), default=math.inf)


def kaplan_meier(times: Sequence[float], reached: Sequence[bool]) -> list[tuple[float, float]]:
    """The share that has not reached the target after each time (Kaplan and Meier 1958).

    Of those who were at risk just before a time, some reached the target then: S(t) = prod (at risk - reached) / at
    risk, over all times up to t.
    """
    curve, at_risk, left = [], len(times), 1.0
    for time, runs in groupby(sorted(zip(times, reached, strict=True)), key=itemgetter(0)):
        of_this_time = [arrived for _, arrived in runs]
        left *= (at_risk - sum(of_this_time)) / at_risk
        at_risk -= len(of_this_time)
        curve.append((float(time), left))
    return curve


def _median(curve: Sequence[tuple[float, float]]) -> float | None:
    for k, (time, left) in enumerate(curve):
        if left < HALF - ROUNDING:
            return time
        if left <= HALF + ROUNDING:
            later = next((t for t, s in curve[k:] if s < HALF - ROUNDING), None)
            return None if later is None else (time + later) / 2
    return None


def restricted_mean(curve: Sequence[tuple[float, float]], tau: float) -> float:
    """The integral of the curve from 0 to tau."""
    steps = [(0.0, 1.0), *((time, left) for time, left in curve if time < tau), (tau, 0.0)]
    return math.fsum(left * (end - begin) for (begin, left), (end, _) in pairwise(steps))


def _interval_of_median(times: Sequence[float], reached: Sequence[bool]) -> tuple[float, float | None] | None:
    """Interval of a median of times. From six times on it is by order statistics, with misses at infinity. Fewer
    times have one if none is a miss: by Student's t on the logarithms.
    """
    if len(times) < RANKS_FROM:
        if not all(reached) or min(times) == 0:
            return None
        return of_exp(interval([math.log(time) for time in times], LEVEL))
    latest = [time if known else math.inf for time, known in zip(times, reached, strict=True)]
    k = rank_below_median(len(times), LEVEL)
    low, high = sorted(times)[k - 1], sorted(latest)[len(times) - k]
    return float(low), float(high) if math.isfinite(high) else None


def best_held(points: Sequence[Point], direction: Direction, k: int = HELD) -> float | None:
    """The best level that a curve holds for ``k`` evaluations; None of fewer."""
    check_points(points)
    gains = [gain(point.value, direction) for point in points]
    held = [min(gains[c : c + k]) for c in range(len(gains) - k + 1)]
    return gain(max(held), direction) if held else None


def to_baselines_best(
    baseline: Mapping[int, Sequence[Point]],
    own: Mapping[int, Sequence[Point]],
    direction: Direction,
    k: int = HELD,
    by: TimeUnit = "steps",
    own_best: bool = False,
) -> Fraction | None:
    """Time to the best level that the baseline of the same seed holds, as a part of the baseline's time.

    Args:
        baseline, own: curves by seed; those that both have count.
        own_best: whether it is the time to the own best level instead, be it better or worse: LN section 6.1's 60%.

    Returns:
        None without such a seed, or where a time is 0, as of a curve without a point.

    Raises:
        ValueError: a value is NaN, or a time is negative.
    """
    logs, missed = [], False
    for seed in sorted(baseline.keys() & own.keys()):
        level, aim = (best_held(curve[seed], direction, k) for curve in (baseline, own if own_best else baseline))
        if level is None or aim is None:
            continue
        theirs = time_to_target(baseline[seed], level, direction, k)
        ours = time_to_target(own[seed], aim, direction, k)
        spent, needed = getattr(theirs, by), getattr(ours, by) if ours.reached else _end(own[seed], by)
        if not (spent and needed):
            return None
        missed = missed or not ours.reached
        logs.append(math.log(needed) - math.log(spent))
    if not logs:
        return None
    fraction = math.exp(statistics.fmean(logs))
    return Fraction(fraction, None if missed else _interval(logs), len(logs), "at least" if missed else None)


def _interval(logs: Sequence[float]) -> Interval | None:
    """Interval of exp of the mean. None if no logarithm differs from the mean."""
    return of_exp(interval(logs, LEVEL)) if len(logs) > 1 and has_spread(logs) else None


def _end(points: Sequence[Point], by: TimeUnit) -> float:
    """Time of the last evaluation, 0 if there is none."""
    if not points:
        return 0.0
    last = points[-1]
    return float(last.step if by == "steps" else last.seconds)

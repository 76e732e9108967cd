"""Times to a target, for curves that may never reach it."""

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
from service.statistics.spread import LEVEL, check_times, cut_number, cut_points, gain, has_spread
from service.statistics.values import Interval, interval, of_exp, share_interval

RANKS_FROM = 6  # times from which on their order alone gives an interval of the median
HALF, ROUNDING = 0.5, 1e-12

TimeUnit = Literal["steps", "seconds"]


class Fraction(NamedTuple):
    """Time of an entry divided by the baseline's time: the geometric mean over ``n`` seeds.

    Attributes:
        ci95: confidence interval by Student's t on the logarithms; None for one seed, without spread, or if a run
            missed the level.
        bound: ``at least`` if a run missed the level, so that the run's true time is longer; else None.
    """

    fraction: float
    ci95: tuple[float, float] | None
    n: int
    bound: Literal["at least"] | None


class Times(NamedTuple):
    """Times to a target, pooled over the seeds.

    Attributes:
        median: median time; None if it is not known, because too few seeds reached the target.
        reached: number of seeds that reached the target.
        ci95: confidence interval of the median; an upper limit of None is not known.
        restricted_mean: mean of the times, each cut at ``tau`` (Royston and Parmar 2013).
    """

    median: float | None
    reached: int
    ci95: tuple[float, float | None] | None
    restricted_mean: float | None


class SeedTime(NamedTuple):
    """Time of a seed to the target, if ``reached``. Else the censoring time: until then the target was not reached."""

    time: float
    reached: bool


class TimeDifference(NamedTuple):
    """Difference of log times of two entries, cut at ``tau``, the first censoring time.

    Attributes:
        tau: the first censoring time of a seed that missed the target; None if all seeds reached it.
        mean: mean difference of the logarithms.
        p_value: how often chance alone makes such a difference.
        seeds: number of seeds that both entries have.
    """

    tau: float | None
    mean: float
    p_value: float
    seeds: int


def time_to_target(points: Sequence[Point], target: float, direction: Direction, k: int = HELD) -> Time:
    """Time when a curve first reaches a target and holds it for ``k`` evaluations, linear between two evaluations.

    Args:
        points: evaluations of the curve, in the order of their steps.

    Raises:
        ValueError: a value or the target is NaN, or a time is negative.
    """
    aim = Aim(cut_number(target), direction, k)
    for point in cut_points(points):
        aim.note(point)
    return aim.time


def times(times: Sequence[float], reached: Sequence[bool], tau: float) -> Times:
    """Pool the times of seeds to a target, one time for each seed.

    Args:
        times: time of each seed; for a seed that missed the target, its censoring time.
        reached: whether each seed reached the target.
        tau: time at which the restricted mean cuts longer times.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times([*times, tau])
    if not times:
        return Times(None, 0, None, None)
    curve = kaplan_meier(times, reached)
    return Times(_median(curve), sum(reached), _interval_of_median(times, reached), restricted_mean(curve, tau))


def survival(left: int, n: int) -> tuple[float, float, float]:
    """Share ``left / n`` of seeds that have not reached the target yet, with its confidence interval; n >= 1."""
    interval = share_interval(left, n)
    assert interval is not None
    return left / n, *interval


def time_pair(a: Mapping[int, SeedTime], b: Mapping[int, SeedTime]) -> TimeDifference | None:
    """Test the difference log a - log b of the times of two entries, by seed. All times are cut at the first censoring
    time of both entries.

    Returns:
        None if there are too few seeds for a test, or if a time is 0.

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


def time_pairs(times: Sequence[Mapping[int, SeedTime]]) -> Pairs:
    """Test the difference of the times of every two entries, as ``time_pair`` does.

    Raises:
        ValueError: a time is NaN or negative.
    """
    check_times(run.time for own in times for run in own.values())
    known = [own if all(run.time for run in own.values()) else {} for own in times]
    logs = [{seed: math.log(run.time) for seed, run in own.items()} for own in known]
    return pairs(logs, [math.log(_first_miss(own)) for own in known])


def _first_miss(runs: Mapping[int, SeedTime]) -> float:
    return min((run.time for run in runs.values() if not run.reached), default=math.inf)


def kaplan_meier(times: Sequence[float], reached: Sequence[bool]) -> list[tuple[float, float]]:
    """Share of seeds that have not reached the target after each time (Kaplan and Meier 1958).

    S(t) = prod (at risk - reached) / at risk, over all times up to t. "At risk" is the number of seeds that were still
    watched just before a time; "reached" is the number of them that reached the target at this time.
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
    """Integral of a survival curve from 0 to tau: the mean of the times, each cut at tau."""
    steps = [(0.0, 1.0), *((time, left) for time, left in curve if time < tau), (tau, 0.0)]
    return math.fsum(left * (end - begin) for (begin, left), (end, _) in pairwise(steps))


def _interval_of_median(times: Sequence[float], reached: Sequence[bool]) -> tuple[float, float | None] | None:
    """Confidence interval of a median of times. From six times on, order statistics give it; for the upper limit a miss
    counts as infinite. Fewer times have an interval only without a miss and without a time of 0: by Student's t on the
    logarithms.
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
    """Best level that a curve holds for ``k`` evaluations; None for a curve with fewer evaluations."""
    gains = [gain(point.value, direction) for point in cut_points(points)]
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
    """Time of an entry to the best level that the baseline of the same seed holds, divided by the baseline's time.

    Args:
        baseline, own: curves of the baseline and of the entry, by seed; only common seeds count.
        by: unit of the times.
        own_best: whether the entry's time is to the entry's own best level instead, which may be better or worse (as
            the 60% of LN section 6.1).

    Returns:
        None if no common seed holds a level for ``k`` evaluations, or if a time is 0, as for a curve without points.

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
    """Confidence interval of the geometric mean, from logarithms. None for one logarithm or without spread."""
    return of_exp(interval(logs, LEVEL)) if len(logs) > 1 and has_spread(logs) else None


def _end(points: Sequence[Point], by: TimeUnit) -> float:
    """Time of the last evaluation; 0 if there is no evaluation."""
    if not points:
        return 0.0
    last = points[-1]
    return float(last.step if by == "steps" else last.seconds)

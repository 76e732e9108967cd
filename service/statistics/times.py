"""Times to a target, of curves that may never get there.

A target counts as reached where a curve first holds it for k evaluations in a row: single evaluations of one run reach
levels by chance that the next ones do not have.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from scipy.stats import ttest_1samp

from normcore.spec.metric import Direction

HELD = 2  # evaluations
LEVEL = 0.95

By = Literal["steps", "seconds"]


class Point(NamedTuple):
    """An evaluation."""

    step: int
    value: float
    seconds: float


class Time(NamedTuple):
    """When a target was reached; of a miss, the last evaluation that was below it."""

    reached: bool
    steps: float
    seconds: float


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


def time_to_target(points: Sequence[Point], target: float, direction: Direction, k: int = HELD) -> Time:
    """When a curve first reaches a target and holds it for ``k`` evaluations, linear between two of them.

    Args:
        points: in the order of their steps.

    Raises:
        ValueError: a value is NaN, or a time is negative.
    """
    _check(points)
    over = [_gain(point.value, direction) - _gain(target, direction) for point in points]
    for c in range(len(points) - k + 1):
        if all(gain >= 0 for gain in over[c : c + k]):
            return Time(True, *_crossing(points, over, c))
    below = [point for point, gain in zip(points, over, strict=True) if gain < 0]
    return Time(False, float(below[-1].step), below[-1].seconds) if below else Time(False, 0.0, 0.0)


def best_held(points: Sequence[Point], direction: Direction, k: int = HELD) -> float | None:
    """The best level that a curve holds for ``k`` evaluations; None of fewer."""
    _check(points)
    gains = [_gain(point.value, direction) for point in points]
    held = [min(gains[c : c + k]) for c in range(len(gains) - k + 1)]
    return _gain(max(held), direction) if held else None


def to_baselines_best(
    baseline: Mapping[int, Sequence[Point]],
    own: Mapping[int, Sequence[Point]],
    direction: Direction,
    k: int = HELD,
    by: By = "steps",
    own_best: bool = False,
) -> Fraction | None:
    """What part of the baseline's time it takes to get to the best level that the baseline of the same seed holds.

    Args:
        baseline, own: curves by seed; those that both have count.
        own_best: whether it is the time to the own best level instead, be it better or worse: LN section 6.1's 60%.

    Returns:
        None without such a seed, or where a time is 0.

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


def _interval(logs: Sequence[float]) -> tuple[float, float] | None:
    if len(logs) < 2 or max(logs) - min(logs) <= 1e-12 * max(map(abs, logs)):
        return None
    found = ttest_1samp(logs, 0).confidence_interval(LEVEL)
    return math.exp(found.low), math.exp(found.high)


def _crossing(points: Sequence[Point], over: Sequence[float], c: int) -> tuple[float, float]:
    """Between the evaluation before, which was below, and this one."""
    if c == 0:
        return float(points[0].step), points[0].seconds
    before, at = points[c - 1], points[c]
    part = -over[c - 1] / (over[c] - over[c - 1])
    return before.step + part * (at.step - before.step), before.seconds + part * (at.seconds - before.seconds)


def _end(points: Sequence[Point], by: By) -> float:
    last = points[-1]
    return float(last.step if by == "steps" else last.seconds)


def _gain(value: float, direction: Direction) -> float:
    return value if direction == "maximize" else -value


def _check(points: Sequence[Point]) -> None:
    for point in points:
        if math.isnan(point.value):
            raise ValueError(f"the value at step {point.step} is not a number")
        if point.step < 0 or point.seconds < 0:
            raise ValueError(f"a time is negative: step {point.step}, {point.seconds} s")

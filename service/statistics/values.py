"""Value of an entry: the mean of its seeds, with interval and score."""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

from scipy.special import betaincinv, stdtrit

from normcore.spec.metric import Direction, Metric
from service.statistics.spread import LEVEL, check_numbers, gain, has_spread

NOMINAL = 0.97
"""Of Student's t for few seeds, so that an interval of skewed values holds the true mean in 95% of cases, too."""
IQM_FROM = 5  # seeds
GAP_FROM = 3  # seeds: of two, nobody can tell which is usual
WIDE_GAP, LEAST_GAP = 3.0, 0.05  # times all other gaps together, and part of the metric's range

Interval = tuple[float, float]


class Limits(NamedTuple):
    """Bounds of a metric's values, and their resolution.

    Attributes:
        least, most: bounds; None where there is none.
        items: test items that the metric counts; None if it counts none, or if their number is not known.
    """

    least: float | None = None
    most: float | None = None
    items: int | None = None

    @classmethod
    def of(cls, metric: Metric, items: int | None = None) -> Self:
        """The limits of a metric that counts so many items."""
        least, most = (None if bound is None else float(bound) for bound in metric.bounds)
        return cls(least, most, items)

    @property
    def of_differences(self) -> "Limits":
        """The bounds of a difference of two values; of a metric with one bound there are none."""
        if self.least is None or self.most is None:
            return UNLIMITED
        return Limits(self.least - self.most, self.most - self.least)

    @property
    def floor(self) -> float:
        """The least half width of an interval: half a test item."""
        return 0.5 / self.items if self.items else 0.0

    def cut(self, interval: Interval, mean: float) -> Interval:
        """The part of an interval within the bounds; it keeps its mean, whatever the metric has promised."""
        low, high = interval
        if self.least is not None:
            low = max(low, min(self.least, mean))
        if self.most is not None:
            high = min(high, max(self.most, mean))
        return low, high


UNLIMITED = Limits()


class Value(NamedTuple):
    """Value of an entry. All fields but the last three are of the seeds that converged.

    Attributes:
        mean, std: the latter with n - 1.
        ci95: of the mean, by Student's t, at least as wide as one test item and within the metric's bounds.
        n: seeds that converged.
        iqm: mean of the middle half of all seeds, those that diverged being worst (Agarwal et al. 2021,
            arXiv:2108.13264).
        score: mean of all seeds, each counted as its ``worth``; a seed that diverged counts as ``no_skill``.
        diverged_ci95: of the share that diverges (Clopper and Pearson 1934).
        gap: whether the values fall into two groups, as where some seeds do not take off. No interval of the mean
            holds for such values.
    """

    mean: float | None
    std: float | None
    ci95: Interval | None
    n: int
    iqm: float | None
    score: float | None
    diverged_ci95: Interval | None
    gap: bool


def value(
    values: Sequence[float],
    n_diverged: int,
    direction: Direction,
    no_skill: float | None,
    limits: Limits = UNLIMITED,
) -> Value:
    """Pool one value a seed.

    Args:
        values: of the seeds that converged.
        n_diverged: how many others there are.
        no_skill: what a model gets that ignores its input. Without it there is no score of seeds that diverged, and
            no limit to what the others lose.
        limits: of the metric.

    Raises:
        ValueError: a value is NaN or infinite, or so is ``no_skill``.
    """
    check_numbers(values if no_skill is None else [*values, no_skill])
    values = list(map(float, values))  # PostgreSQL's JSON gives 1e30 back as a whole number, too large for numpy
    n = len(values)
    if not values:
        return Value(None, None, None, 0, None, None, share_interval(n_diverged, n_diverged), gap=False)
    return Value(
        mean=mean(values),
        std=statistics.stdev(values) if n > 1 else None,
        ci95=interval(values, NOMINAL, limits),
        n=n,
        iqm=_iqm(values, n_diverged, direction),
        score=_score(values, n_diverged, direction, no_skill),
        diverged_ci95=share_interval(n_diverged, n + n_diverged),
        gap=_has_gap(values, _range(values, direction, no_skill, limits)),
    )


def worth(value: float, direction: Direction, no_skill: float | None) -> float:
    """The part of a score that a seed gives: its value, but never worse than ``no_skill``.

    A training that explodes and stays finite counts as one that becomes NaN.
    """
    if no_skill is None:
        return value
    return max(value, no_skill) if direction == "maximize" else min(value, no_skill)


def mean(values: Sequence[float]) -> float | None:
    """Mean of the seeds that converged; None if there is no such seed."""
    return statistics.fmean(values) if values else None


def interval(values: Sequence[float], level: float, limits: Limits = UNLIMITED) -> Interval | None:
    """Confidence interval of the mean by Student's t; None for fewer than two values.

    Values without spread have an interval of one test item, or of no width if the metric counts none.
    """
    n = len(values)
    if n < 2:
        return None
    mean, half = statistics.fmean(values), 0.0
    if has_spread(values):
        half = statistics.stdev(values, mean) / math.sqrt(n) * float(stdtrit(n - 1, (1 + level) / 2))
    half = max(half, limits.floor)
    return limits.cut((mean - half, mean + half), mean)


def of_exp(logs: Interval | None) -> Interval | None:
    """Interval of numbers from the interval of their logarithms."""
    return None if logs is None else (math.exp(logs[0]), math.exp(logs[1]))


def _iqm(values: Sequence[float], n_diverged: int, direction: Direction) -> float | None:
    if len(values) + n_diverged < IQM_FROM:
        return None
    worst = gain(-math.inf, direction)
    ordered = sorted([*values, *[worst] * n_diverged])
    quarter = len(ordered) // 4
    found = statistics.fmean(ordered[quarter : len(ordered) - quarter])
    return found if math.isfinite(found) else None


def _score(values: Sequence[float], n_diverged: int, direction: Direction, no_skill: float | None) -> float | None:
    if n_diverged and no_skill is None:
        return None
    of_converged = math.fsum(worth(value, direction, no_skill) for value in values)
    return (of_converged + n_diverged * (no_skill or 0.0)) / (len(values) + n_diverged)


def _has_gap(values: Sequence[float], of: float | None) -> bool:
    """Tell if the largest gap between neighbours is over 3 times all others together, and over 5% of the range.

    Args:
        of: the metric's range; None if it is not known.
    """
    if len(values) < GAP_FROM or of is None:
        return False
    ordered = sorted(values)
    widest = max(high - low for low, high in pairwise(ordered))
    others = ordered[-1] - ordered[0] - widest
    return widest > WIDE_GAP * others and widest > LEAST_GAP * of


def _range(values: Sequence[float], direction: Direction, no_skill: float | None, limits: Limits) -> float | None:
    """Range of a metric, from its least to its most. If a bound is missing, the range goes from no skill to the good
    bound, or to the best value.
    """
    if limits.least is not None and limits.most is not None:
        return limits.most - limits.least
    if no_skill is None:
        return None
    best = limits.most if direction == "maximize" else limits.least
    if best is None:
        best = max(values) if direction == "maximize" else min(values)
    return abs(no_skill - best)


def share_interval(count: int, of: int) -> Interval | None:
    """Interval of a share (Clopper and Pearson 1934); None of nothing."""
    if not of:
        return None
    tail = (1 - LEVEL) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return low, high

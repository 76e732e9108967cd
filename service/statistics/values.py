"""Value of an entry: the mean of its seeds, with interval and score."""

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

from scipy.special import betaincinv, stdtrit

from normcore.spec.metric import Direction, Metric
from service.statistics.spread import LARGEST, LEVEL, cut_number, cut_numbers, gain, has_spread

NOMINAL = 0.97
"""Nominal level of intervals by Student's t, so that few and skewed values cover the true mean in 95% of cases, too."""
IQM_FROM = 5  # seeds that an interquartile mean needs
GAP_FROM = 3  # seeds that a gap needs: of two, nobody can tell which is usual
WIDE_GAP, LEAST_GAP = 3.0, 0.05  # least gap: times all other gaps together, and as a share of the metric's range

Interval = tuple[float, float]


class Limits(NamedTuple):
    """Bounds of a metric's values, and their resolution.

    Attributes:
        least, most: smallest and largest possible value; None if there is no such bound.
        items: number of test items that the metric counts; None if it counts no items, or if the number is not known.
    """

    least: float | None = None
    most: float | None = None
    items: int | None = None

    @classmethod
    def of(cls, metric: Metric, items: int | None = None) -> Self:
        """Limits of a metric that counts ``items`` test items."""
        least, most = (None if bound is None else float(bound) for bound in metric.bounds)
        return cls(least, most, items)

    @property
    def of_differences(self) -> "Limits":
        """Bounds of the difference of two values. There are no bounds unless the metric has both of its own."""
        if self.least is None or self.most is None:
            return UNLIMITED
        return Limits(self.least - self.most, self.most - self.least)

    @property
    def floor(self) -> float:
        """Smallest half width of an interval: half a test item, as a share of all test items."""
        return 0.5 / self.items if self.items else 0.0

    def cut(self, interval: Interval, mean: float) -> Interval:
        """Cut an interval to the bounds. The interval always contains its mean, even a mean beyond a bound."""
        low, high = interval
        if self.least is not None:
            low = max(low, min(self.least, mean))
        if self.most is not None:
            high = min(high, max(self.most, mean))
        return low, high


UNLIMITED = Limits()


class Value(NamedTuple):
    """Value of an entry, pooled over its seeds.

    Attributes:
        mean, std: mean and standard deviation (with n - 1) of the seeds that converged.
        ci95: confidence interval of the mean by Student's t, at least as wide as one test item and within the metric's
            bounds.
        n: number of seeds that converged.
        iqm: mean of the middle half of all seeds; seeds that diverged count as the worst (Agarwal et al. 2021,
            arXiv:2108.13264).
        score: mean of all seeds, each counted as its ``worth``; a seed that diverged counts as ``no_skill``.
        diverged_ci95: confidence interval of the share of seeds that diverge (Clopper and Pearson 1934).
        gap: whether the values fall into two groups, for example because some seeds did not take off. No interval of
            the mean holds for such values.
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
    """Pool the values of an entry's seeds, one value for each seed.

    Args:
        values: values of the seeds that converged.
        n_diverged: number of seeds that diverged.
        no_skill: value of a model that ignores its input. If it is None, an entry with a diverged seed has no score,
            and a bad value of another seed enters the score as it is.
        limits: bounds and resolution of the metric.

    Raises:
        ValueError: a value or ``no_skill`` is NaN or infinite.
    """
    values, no_skill = cut_numbers(values), None if no_skill is None else cut_number(no_skill)
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
    """Value with which a seed enters a score: the seed's value, but never worse than ``no_skill``.

    So a training that explodes and stays finite counts like a training that becomes NaN.
    """
    if no_skill is None:
        return value
    return max(value, no_skill) if direction == "maximize" else min(value, no_skill)


def mean(values: Sequence[float]) -> float | None:
    """Mean of the seeds that converged; None if there is no such seed.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    return statistics.fmean(cut_numbers(values)) if values else None


def interval(values: Sequence[float], level: float, limits: Limits = UNLIMITED) -> Interval | None:
    """Confidence interval of the mean by Student's t; None for fewer than two values.

    Values without spread have an interval as wide as one test item, or of width 0 if the metric counts no items.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    values, n = cut_numbers(values), len(values)
    if n < 2:
        return None
    mean, half = statistics.fmean(values), 0.0
    if has_spread(values):
        variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)  # statistics.stdev is ten times slower
        half = math.sqrt(variance / n) * float(stdtrit(n - 1, (1 + level) / 2))
    half = max(half, limits.floor)
    return limits.cut((mean - half, mean + half), mean)


def of_exp(logs: Interval | None) -> Interval | None:
    """Convert an interval of logarithms to an interval of the numbers. Numbers above ``LARGEST`` become ``LARGEST``."""
    if logs is None:
        return None
    low, high = (math.exp(min(log, math.log(LARGEST))) for log in logs)
    return low, high


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
    """Tell if the largest gap between sorted values is over 3 times all others together, and over 5% of the range.

    Args:
        of: width of the metric's range; None if it is not known.
    """
    if len(values) < GAP_FROM or of is None:
        return False
    ordered = sorted(values)
    widest = max(high - low for low, high in pairwise(ordered))
    others = ordered[-1] - ordered[0] - widest
    return widest > WIDE_GAP * others and widest > LEAST_GAP * of


def _range(values: Sequence[float], direction: Direction, no_skill: float | None, limits: Limits) -> float | None:
    """Width of a metric's range. If a bound is missing, it is the distance from ``no_skill`` to the good bound, or to
    the best value if there is no good bound.
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
    """Confidence interval of the share ``count / of`` (Clopper and Pearson 1934); None if ``of`` is 0."""
    if not of:
        return None
    tail = (1 - LEVEL) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return low, high

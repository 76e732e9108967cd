"""What an entry is worth, over its seeds."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import betaincinv, stdtrit
from scipy.stats import trim_mean

from normcore.spec.metric import Direction
from service.statistics.spread import LEVEL, check_numbers, gain, has_spread

NOMINAL = 0.97
"""Of Student's t for few seeds, so that an interval of skewed values holds the true mean in 95% of cases, too."""
IQM_FROM = 5  # seeds

Interval = tuple[float, float]


class Value(NamedTuple):
    """Of the seeds that converged, but for the last three.

    Attributes:
        mean, std: the latter with n - 1.
        ci95: of the mean, by Student's t.
        n: seeds that converged.
        iqm: mean of the middle half of all seeds, those that diverged being worst (Agarwal et al. 2021,
            arXiv:2108.13264).
        score: mean of all seeds, each counted as its ``worth``; a seed that diverged counts as ``no_skill``.
        diverged_ci95: of the share that diverges (Clopper and Pearson 1934).
    """

    mean: float | None
    std: float | None
    ci95: Interval | None
    n: int
    iqm: float | None
    score: float | None
    diverged_ci95: Interval | None


def value(values: Sequence[float], n_diverged: int, direction: Direction, no_skill: float | None) -> Value:
    """Pool one value a seed.

    Args:
        values: of the seeds that converged.
        n_diverged: how many others there are.
        no_skill: what a model gets that ignores its input. Without it there is no score of seeds that diverged, and
            no limit to what the others lose.

    Raises:
        ValueError: a value is NaN or infinite, or so is ``no_skill``.
    """
    check_numbers(values if no_skill is None else [*values, no_skill])
    values = list(map(float, values))  # PostgreSQL's JSON gives 1e30 back as a whole number, too large for numpy
    n = len(values)
    if not values:
        return Value(None, None, None, 0, None, None, _share(n_diverged, n_diverged))
    return Value(
        mean=mean(values),
        std=statistics.stdev(values) if n > 1 else None,
        ci95=interval(values, NOMINAL),
        n=n,
        iqm=_iqm(values, n_diverged, direction),
        score=_score(values, n_diverged, direction, no_skill),
        diverged_ci95=_share(n_diverged, n + n_diverged),
    )


def worth(value: float, direction: Direction, no_skill: float | None) -> float:
    """The part of a score that a seed gives: its value, but never worse than ``no_skill``.

    A training that explodes and stays finite counts as one that becomes NaN.
    """
    if no_skill is None:
        return value
    return max(value, no_skill) if direction == "maximize" else min(value, no_skill)


def mean(values: Sequence[float]) -> float | None:
    """Of the seeds that converged; None of none."""
    return statistics.fmean(values) if values else None


def interval(values: Sequence[float], level: float) -> Interval | None:
    """Of the mean, by Student's t; None of fewer than two."""
    if len(values) < 2:
        return None
    if not has_spread(values):
        mean = statistics.fmean(values)
        return mean, mean
    n, mean = len(values), statistics.fmean(values)
    half = statistics.stdev(values, mean) / math.sqrt(n) * float(stdtrit(n - 1, (1 + level) / 2))
    return mean - half, mean + half


def of_exp(logs: Interval | None) -> Interval | None:
    """What an interval of logarithms says of the numbers themselves."""
    return None if logs is None else (math.exp(logs[0]), math.exp(logs[1]))


def _iqm(values: Sequence[float], n_diverged: int, direction: Direction) -> float | None:
    if len(values) + n_diverged < IQM_FROM:
        return None
    worst = gain(-math.inf, direction)
    mean = float(trim_mean([*values, *[worst] * n_diverged], 0.25))
    return mean if math.isfinite(mean) else None


def _score(values: Sequence[float], n_diverged: int, direction: Direction, no_skill: float | None) -> float | None:
    if n_diverged and no_skill is None:
        return None
    of_converged = math.fsum(worth(value, direction, no_skill) for value in values)
    return (of_converged + n_diverged * (no_skill or 0.0)) / (len(values) + n_diverged)


def _share(count: int, of: int) -> Interval | None:
    if not of:
        return None
    tail = (1 - LEVEL) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return low, high

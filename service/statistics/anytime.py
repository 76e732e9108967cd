"""Test of differences that is valid whenever one stops adding seeds: Wang and Ramdas 2023, arXiv:2310.03722."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from service.statistics.differences import holm
from service.statistics.spread import LEVEL, cut_by_seed, cut_numbers, has_spread
from service.statistics.values import Interval

G = 4.0  # weight of large effects in the prior


class Anytime(NamedTuple):
    """Result of an anytime-valid test: it is valid whenever one stops adding seeds.

    Attributes:
        e_value: e-value of all differences so far, evidence that their mean is not 0.
        p_value: 1 divided by the largest e-value so far, at most 1.
        ci95: 95% confidence interval of the mean difference; None for fewer than two differences, for differences
            without spread, and while the interval is the whole line.
    """

    e_value: float
    p_value: float
    ci95: Interval | None


def undecided(values: Sequence[Mapping[int, float]]) -> list[int]:
    """Find the entries whose order is still open against at least one other entry.

    Args:
        values: the values of each entry, by seed.

    Returns:
        Indices of these entries.

    Raises:
        ValueError: a value is NaN.
    """
    values = list(map(cut_by_seed, values))
    pairs = list(combinations(range(len(values)), 2))
    p_values = np.array([_p_value(values[one], values[other]) for one, other in pairs])
    is_open = holm(p_values) > 1 - LEVEL
    return sorted({entry for pair, still in zip(pairs, is_open, strict=True) if still for entry in pair})


def _p_value(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    return anytime([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]).p_value


def anytime(differences: Sequence[float]) -> Anytime:
    """Anytime-valid test of paired differences, in the order in which the seeds came.

    Raises:
        ValueError: a difference is NaN.
    """
    differences = cut_numbers(differences)
    e_values = [_e_value(differences[:n]) for n in range(1, len(differences) + 1)]
    p_value = min(1.0, 1 / max(e_values, default=1.0))
    return Anytime(e_values[-1] if e_values else 1.0, p_value, _interval(differences))


def _e_value(differences: Sequence[float]) -> float:
    n = len(differences)
    if n < 2 or not has_spread(differences):  # for two it is 3 at most, which decides nothing
        return 1.0
    t2 = statistics.fmean(differences) ** 2 * n / statistics.variance(differences)
    shrunk = 1 + n * G
    return float(shrunk**-0.5 * ((1 + t2 / (n - 1)) / (1 + t2 / ((n - 1) * shrunk))) ** (n / 2))


def _interval(differences: Sequence[float]) -> Interval | None:
    n = len(differences)
    if n < 2 or not has_spread(differences):
        return None
    shrunk = 1 + n * G
    level = (math.sqrt(shrunk) / (1 - LEVEL)) ** (2 / n)
    if level >= shrunk:
        return None
    half = statistics.stdev(differences) / math.sqrt(n) * math.sqrt((n - 1) * (level - 1) / (1 - level / shrunk))
    mean = statistics.fmean(differences)
    return mean - half, mean + half

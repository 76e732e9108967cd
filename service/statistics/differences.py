"""How far two entries are apart, and whether that may be chance."""

import math
import statistics
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.stats import ttest_1samp, ttest_ind

from service.statistics.spread import LEVEL, check_numbers, has_spread
from service.statistics.values import Interval

PAIRED_FROM = 5  # common seeds


class Difference(NamedTuple):
    """Of two means.

    Attributes:
        ci95: None where no value differs from its mean.
        p_value: how often chance alone makes such a difference.
        seeds: how many both have.
    """

    mean: float
    ci95: Interval | None
    p_value: float
    seeds: int


def pair(a: Mapping[int, float], b: Mapping[int, float]) -> Difference | None:
    """a - b, of values by seed: seed by seed by Student's t, if there are five common seeds or more that are half of
    the smaller set; else by Welch's t of all seeds (Welch 1947).

    Returns:
        None where there are too few seeds for either.

    Raises:
        ValueError: a value is NaN.
    """
    check_numbers([*a.values(), *b.values()])
    common = sorted(a.keys() & b.keys())
    if len(common) >= PAIRED_FROM and 2 * len(common) >= min(len(a), len(b)):
        return _paired([a[seed] - b[seed] for seed in common])
    if min(len(a), len(b)) < 2:
        return None
    return _welch(list(a.values()), list(b.values()), len(common))


def _paired(differences: Sequence[float]) -> Difference:
    n, mean = len(differences), statistics.fmean(differences)
    if not has_spread(differences):
        return Difference(mean, None, 2.0 ** (1 - n) if mean else 1.0, n)
    test = ttest_1samp(differences, 0)
    return Difference(mean, _of(test), float(test.pvalue), n)


def _welch(a: Sequence[float], b: Sequence[float], common: int) -> Difference:
    mean = statistics.fmean(a) - statistics.fmean(b)
    if not has_spread(a) and not has_spread(b):
        apart = has_spread([*a, *b])
        return Difference(
            mean if apart else 0.0, None, 2 / math.comb(len(a) + len(b), len(a)) if apart else 1.0, common
        )
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # one of them may have no spread
        test = ttest_ind(a, b, equal_var=False)
    return Difference(mean, _of(test), float(test.pvalue), common)


def _of(test: object) -> Interval:
    low, high = test.confidence_interval(LEVEL)  # type: ignore[attr-defined]
    return float(low), float(high)


def holm(p: Sequence[float]) -> list[float]:
    """p-values of as many tests, so that one of 20 families has any false alarm (Holm 1979)."""
    adjusted = [0.0] * len(p)
    highest = 0.0
    for place, k in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        highest = max(highest, min((len(p) - place) * p[k], 1.0))
        adjusted[k] = highest
    return adjusted

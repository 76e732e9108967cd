"""Agreement of a claim with fresh seeds of our own."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from scipy.special import stdtr, stdtrit

from service.statistics.differences import Difference, pair
from service.statistics.order import SURE
from service.statistics.spread import check_numbers, has_spread
from service.statistics.values import NOMINAL, UNLIMITED, Limits, interval

FRESH_FROM = 3  # fresh seeds, of which fewer say nothing

Verdict = Literal["claimed", "confirmed", "disputed"]


class Agreement(NamedTuple):
    """Verdict on a claim.

    Attributes:
        fresh: measured seeds that the claim has not: one that repeats a seed repeats its luck.
        difference: the claim's mean less theirs, by Welch's t, or that of a claim of one seed, by Student's as one more
            of theirs; None of fewer than three fresh seeds, or of one seed beside others that are all alike.
    """

    verdict: Verdict
    fresh: Sequence[int]
    difference: Difference | None


def agreement(claimed: Mapping[int, float], measured: Mapping[int, float], limits: Limits = UNLIMITED) -> Agreement:
    """Hold a claim beside what was measured, by seed.

    A difference that chance makes in less than one of twenty cases disputes the claim. One that chance may have made
    confirms it if the claimed mean lies in the interval of the fresh seeds' mean, too; else the seeds are too few, or
    too far apart, to tell. A claim of one seed may be luck: it can be disputed, and not confirmed.

    Args:
        limits: of the values.

    Raises:
        ValueError: a value is NaN.
    """
    fresh = {seed: measured[seed] for seed in sorted(measured.keys() - claimed.keys())}
    difference = _difference(list(claimed.values()), list(fresh.values())) if len(fresh) >= FRESH_FROM else None
    difference = difference and difference.within(limits.of_differences)
    return Agreement(_verdict(claimed, fresh, difference, limits), list(fresh), difference)


def _difference(claimed: Sequence[float], fresh: Sequence[float]) -> Difference | None:
    if len(claimed) == 1:
        return _one_more(claimed[0], fresh)
    return pair(dict(enumerate(claimed)), dict(enumerate(fresh, len(claimed))))


def _one_more(value: float, others: Sequence[float]) -> Difference | None:
    """Test whether a value may be one more of these. The error of its difference from their mean has its own spread,
    too.
    """
    check_numbers([value, *others])
    if not has_spread(others):
        return None
    difference, n = value - statistics.fmean(others), len(others)
    error = statistics.stdev(others) * math.sqrt(1 + 1 / n)
    half = error * float(stdtrit(n - 1, 1 - SURE / 2))
    p_value = 2 * float(stdtr(n - 1, -abs(difference) / error))
    return Difference(difference, (difference - half, difference + half), p_value, 0)


def _verdict(
    claimed: Mapping[int, float], fresh: Mapping[int, float], difference: Difference | None, limits: Limits
) -> Verdict:
    if difference is None:
        return "claimed"
    if difference.p_value <= SURE:
        return "disputed"
    if len(claimed) == 1:
        return "claimed"
    low, high = interval(list(fresh.values()), NOMINAL, limits) or (math.nan, math.nan)
    alike = difference.mean == 0 or low <= statistics.fmean(claimed.values()) <= high
    return "confirmed" if alike else "claimed"

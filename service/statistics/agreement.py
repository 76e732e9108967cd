"""Agreement of a claim (a submitted result) with fresh seeds that this service measured."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from scipy.special import stdtr, stdtrit

from service.statistics.differences import MeanDifference, pair
from service.statistics.order import SURE
from service.statistics.spread import cut_by_seed, has_spread
from service.statistics.values import NOMINAL, UNLIMITED, Limits, interval

FRESH_FROM = 3  # fresh seeds that a verdict needs

ClaimVerdict = Literal["claimed", "confirmed", "disputed"]


class Agreement(NamedTuple):
    """Verdict on a claim.

    Attributes:
        fresh: measured seeds that the claim does not have. A run that repeats a seed repeats the seed's luck.
        difference: mean of the claim minus mean of the fresh seeds, by Welch's t. A claim of one seed is tested by
            Student's t, as if it were one more fresh seed. None for fewer than three fresh seeds, and for a claim of
            one seed if the fresh seeds have no spread.
    """

    verdict: ClaimVerdict
    fresh: Sequence[int]
    difference: MeanDifference | None


def agreement(claimed: Mapping[int, float], measured: Mapping[int, float], limits: Limits = UNLIMITED) -> Agreement:
    """Compare a claim with the values that this service measured.

    A claim is disputed if chance alone makes such a difference in less than one of twenty cases. Else it is confirmed
    if the claimed mean lies in the confidence interval of the fresh seeds' mean. Else the seeds are too few, or too far
    apart, to tell. A claim of one seed may be luck, so it can be disputed, but not confirmed.

    Args:
        claimed: values of the claim, by seed.
        measured: values that this service measured, by seed.
        limits: bounds and resolution of the values.

    Raises:
        ValueError: a value is NaN.
    """
    claimed, measured = cut_by_seed(claimed), cut_by_seed(measured)
    fresh = {seed: measured[seed] for seed in sorted(measured.keys() - claimed.keys())}
    difference = _difference(list(claimed.values()), list(fresh.values())) if len(fresh) >= FRESH_FROM else None
    difference = difference and difference.within(limits.of_differences)
    return Agreement(_verdict(claimed, fresh, difference, limits), list(fresh), difference)


def _difference(claimed: Sequence[float], fresh: Sequence[float]) -> MeanDifference | None:
    if len(claimed) == 1:
        return _one_more(claimed[0], fresh)
    return pair(dict(enumerate(claimed)), dict(enumerate(fresh, len(claimed))))


def _one_more(value: float, others: Sequence[float]) -> MeanDifference | None:
    """Test if a value may come from the same distribution as the others. The standard error of the difference from
    their mean contains the spread of the single value, too.
    """
    if not has_spread(others):
        return None
    difference, n = value - statistics.fmean(others), len(others)
    error = statistics.stdev(others) * math.sqrt(1 + 1 / n)
    half = error * float(stdtrit(n - 1, 1 - SURE / 2))
    p_value = 2 * float(stdtr(n - 1, -abs(difference) / error))
    return MeanDifference(difference, (difference - half, difference + half), p_value, 0)


def _verdict(
    claimed: Mapping[int, float], fresh: Mapping[int, float], difference: MeanDifference | None, limits: Limits
) -> ClaimVerdict:
    if difference is None:
        return "claimed"
    if difference.p_value <= SURE:
        return "disputed"
    if len(claimed) == 1:
        return "claimed"
    low, high = interval(list(fresh.values()), NOMINAL, limits) or (math.nan, math.nan)
    alike = difference.mean == 0 or low <= statistics.fmean(claimed.values()) <= high
    return "confirmed" if alike else "claimed"

"""Whether seeds that somebody else measured and seeds that we did not borrow from them came to the same."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from service.statistics.differences import Difference, pair
from service.statistics.order import SURE
from service.statistics.values import NOMINAL, interval

FRESH_FROM = 3  # fresh seeds, of which fewer say nothing

Verdict = Literal["claimed", "confirmed", "disputed"]


class Agreement(NamedTuple):
    """What is known of a claim.

    Attributes:
        fresh: measured seeds that the claim has not: one that repeats a seed repeats its luck.
        difference: the claim's mean less theirs, by Welch's t; None of fewer than three fresh seeds, or of a claim of
            one seed alone.
    """

    verdict: Verdict
    fresh: Sequence[int]
    difference: Difference | None


def agreement(claimed: Mapping[int, float], measured: Mapping[int, float]) -> Agreement:
    """Hold a claim beside what was measured, by seed.

    A difference that chance makes in less than one of twenty cases disputes the claim. One that chance may have made
    confirms it if the claimed mean lies in the interval of the fresh seeds' mean, too; else the seeds are too few, or
    too far apart, to tell.

    Raises:
        ValueError: a value is NaN.
    """
    fresh = {seed: measured[seed] for seed in sorted(measured.keys() - claimed.keys())}
    difference = pair(claimed, fresh) if len(fresh) >= FRESH_FROM else None
    return Agreement(_verdict(claimed, fresh, difference), list(fresh), difference)


def _verdict(claimed: Mapping[int, float], fresh: Mapping[int, float], difference: Difference | None) -> Verdict:
    if difference is None:
        return "claimed"
    if difference.p_value <= SURE:
        return "disputed"
    low, high = interval(list(fresh.values()), NOMINAL) or (math.nan, math.nan)
    alike = difference.mean == 0 or low <= statistics.fmean(claimed.values()) <= high
    return "confirmed" if alike else "claimed"

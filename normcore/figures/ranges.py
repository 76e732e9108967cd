"""Range of an axis: it shows all values of steady runs, and values of diverged runs that are near them."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

REACH = 1.0  # diverged values are shown up to this many heights of the steady range above and below it
FENCE = 3.0  # if all runs diverged: values are shown up to this many interquartile ranges beyond the quartiles


class Range(NamedTuple):
    """Range of an axis."""

    low: float
    high: float

    def clip_value(self, value: float) -> float:
        """Clip ``value`` to the range."""
        return min(max(value, self.low), self.high)


def choose_range(steady: Sequence[float], diverged: Sequence[float] = ()) -> Range | None:
    """Range that shows all ``steady`` values and the ``diverged`` values near them; None if there are no values."""
    known = steady or _without_far_ones(diverged)
    if not known:
        return None
    low, high = min(known), max(known)
    reach = REACH * (high - low)
    near = [value for value in diverged if low - reach <= value <= high + reach]
    return Range(min([low, *near]), max([high, *near]))


def choose_clip_limits(steady: Sequence[float], diverged: Sequence[float]) -> dict[str, float]:
    """Limits for ``autorangeoptions`` of a Plotly axis that fits its range to its values, also to later ones.

    A side has a limit only if ``diverged`` values lie too far out on it.
    """
    seen = choose_range(steady, diverged)
    if seen is None or not diverged:
        return {}
    margin = 0.05 * (seen.high - seen.low)
    below = {"clipmin": seen.low - margin} if min(diverged) < seen.low else {}
    return below | ({"clipmax": seen.high + margin} if max(diverged) > seen.high else {})


def _without_far_ones(values: Sequence[float]) -> list[float]:
    if len(values) < 4:
        return list(values)
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    reach = FENCE * (third - first)
    return [value for value in values if first - reach <= value <= third + reach]

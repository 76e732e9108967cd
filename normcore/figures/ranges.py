"""Range of an axis: all values, but of diverged runs only as much as keeps the rest readable."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

REACH = 1.0  # times the height of what did not diverge, up to which above and beneath it the rest is shown
FENCE = 3.0  # times the middle half's height beyond it, where all diverged


class Range(NamedTuple):
    """Range of an axis."""

    low: float
    high: float

    def clipped(self, value: float) -> float:
        """The nearest value that is shown."""
        return min(max(value, self.low), self.high)


def shown(steady: Sequence[float], diverged: Sequence[float] = ()) -> Range | None:
    """The range that shows all of ``steady``, and of ``diverged`` what is not far from it; None without any value."""
    known = steady or _without_far_ones(diverged)
    if not known:
        return None
    low, high = min(known), max(known)
    reach = REACH * (high - low)
    near = [value for value in diverged if low - reach <= value <= high + reach]
    return Range(min([low, *near]), max([high, *near]))


def clipping(steady: Sequence[float], diverged: Sequence[float]) -> dict[str, float]:
    """Plotly's ``autorangeoptions`` of an axis that else shows everything, also what comes later: limits where values
    are too far out."""
    seen = shown(steady, diverged)
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

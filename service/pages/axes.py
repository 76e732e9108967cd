"""Positions of numbers and their intervals on an axis, in per cent of its width, and its tick labels."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

FENCE = 3.0  # a number beyond the quartiles by over 3 times their distance gets an arrow at the edge
MARGIN = 0.06  # share of the range, added on both sides
MAX_TICKS = 5


@dataclass(frozen=True, slots=True)
class Tick:
    """Tick of an axis: its place, in per cent of the width, and its label."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark of a number, in per cent of the axis.

    Attributes:
        limits: ends of the interval; None if there is no interval.
        dots: single seeds.
        beyond: end of the axis that the number lies beyond; None if the number lies on the axis.
    """

    at: float
    limits: tuple[float, float] | None
    dots: Sequence[float]
    beyond: Literal["low", "high"] | None


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis from ``low`` to ``high``; ``scale`` maps numbers to even spacing."""

    low: float
    high: float
    ticks: Sequence[Tick] = ()
    scale: Callable[[float], float] = float

    def at(self, number: float) -> float:
        """Place of a number in per cent of the width. A number beyond an end is placed at this end."""
        low, high = self.scale(self.low), self.scale(self.high)
        return round(100 * min(1.0, max(0.0, (self.scale(number) - low) / (high - low))), 2)

    def beyond(self, number: float) -> Literal["low", "high"] | None:
        """End of the axis that a number lies beyond; None if the number lies on the axis."""
        return "low" if number < self.low else "high" if number > self.high else None

    def mark(self, mean: float, limits: Sequence[float] | None, dots: Sequence[float] = ()) -> Mark:
        """Mark of a number, with its interval and its seeds."""
        return Mark(
            at=self.at(mean),
            limits=(self.at(limits[0]), self.at(limits[1])) if limits else None,
            dots=[self.at(dot) for dot in dots if self.beyond(dot) is None],
            beyond=self.beyond(mean),
        )


def linear(
    means: Sequence[float], limits: Sequence[float], text: Callable[[float], str], *, must: float | None = None
) -> Axis:
    """Axis on which all numbers but outliers have a place.

    Args:
        means: numbers that decide what an outlier is.
        limits: ends of intervals, and values of single seeds; the axis has room for those that are no outliers.
        text: function that writes the label of a tick.
        must: number that the axis has in any case, such as 0 for no difference.
    """
    low, high = _fences(means)
    shown = [number for number in (*means, *limits) if low <= number <= high] + ([] if must is None else [must])
    low, high = min(shown), max(shown)
    margin = MARGIN * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    axis = Axis(low, high)
    return Axis(low, high, [Tick(axis.at(number), text(number)) for number in _round_numbers(low, high)])


def logarithmic(numbers: Sequence[float], text: Callable[[float], str]) -> Axis:
    """Logarithmic axis of ratios. It always has room for 1, and its ticks are powers of 2."""
    shown = [number for number in (*numbers, 1.0) if number > 0]
    low, high = math.log2(min(shown)) - 0.15, math.log2(max(shown)) + 0.15
    step = max(1, math.ceil((high - low) / (MAX_TICKS + 1)))
    powers = [2.0**power for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]
    axis = Axis(2.0**low, 2.0**high, scale=math.log2)
    return Axis(axis.low, axis.high, [Tick(axis.at(number), text(number)) for number in powers], math.log2)


def _fences(means: Sequence[float]) -> tuple[float, float]:
    if len(means) < 4:
        return -math.inf, math.inf
    first, _, third = statistics.quantiles(means, n=4, method="inclusive")
    reach = FENCE * (third - first)
    return first - reach, third + reach


def _round_numbers(low: float, high: float) -> list[float]:
    """Numbers for ticks between ``low`` and ``high``: multiples of 1, 2 or 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10((high - low) / MAX_TICKS))
    step = next(size * times for times in (1, 2, 5, 10, 20) if (high - low) / (size * times) <= MAX_TICKS)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]

"""Spread of values: tells if numbers differ by more than rounding."""

import math
from collections.abc import Iterable, Sequence

from normcore.spec.metric import Direction
from normcore.target import Point

LEVEL = 0.95
RELATIVE = 1e-12


def has_spread(values: Sequence[float]) -> bool:
    """Tell if numbers differ by more than rounding: max - min > 1e-12 max|x|."""
    return max(values) - min(values) > RELATIVE * max(map(abs, values))


def check_numbers(values: Iterable[float]) -> None:
    """Check that all values are finite.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is not a number, or infinite")


def check_times(times: Iterable[float]) -> None:
    """Check that times are numbers from 0 on.

    Raises:
        ValueError: a time is NaN or negative.
    """
    for time in times:
        if math.isnan(time) or time < 0:
            raise ValueError(f"a time is negative or not a number: {time}")


def check_points(points: Iterable[Point]) -> None:
    """Check the values and times of a curve's points.

    Raises:
        ValueError: a value is NaN or infinite, or a time is NaN or negative.
    """
    for step, value, seconds in points:
        if not math.isfinite(value):
            raise ValueError(f"the value at step {step} is not a number, or infinite")
        if not (step >= 0 and seconds >= 0):
            raise ValueError(f"a time is negative or not a number: step {step}, {seconds} s")


def gain(value: float, direction: Direction) -> float:
    """Change the sign of a value if less is better, so that more is better. Applied twice, it gives the value back."""
    return value if direction == "maximize" else -value

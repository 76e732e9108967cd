"""Spread of values: tells if numbers differ by more than rounding, and cuts numbers to a size that has statistics."""

import math
from collections.abc import Iterable, Mapping, Sequence

from normcore.spec.metric import Direction
from normcore.target import Point

LEVEL = 0.95
RELATIVE = 1e-12
LARGEST, SMALLEST = 1e75, 1e-60
"""Largest and smallest size of a number in statistics; both are beyond single precision. Welch's test needs fourth
powers, which overflow for larger numbers. For smaller numbers the powers of differences underflow."""


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


def cut_numbers(values: Iterable[float]) -> list[float]:
    """Cut numbers to the size that has finite statistics: larger numbers to ``LARGEST``, smaller numbers to 0.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    numbers = list(map(float, values))  # PostgreSQL's JSON gives 1e30 back as a whole number, too large for numpy
    check_numbers(numbers)
    sizes = [abs(number) for number in numbers if number]
    if not sizes or (min(sizes) >= SMALLEST and max(sizes) <= LARGEST):
        return numbers
    return list(map(_cut, numbers))


def cut_number(value: float) -> float:
    """Cut one number, as ``cut_numbers`` does.

    Raises:
        ValueError: the value is NaN or infinite.
    """
    [number] = cut_numbers([value])
    return number


def cut_by_seed(values: Mapping[int, float]) -> dict[int, float]:
    """Cut the values of an entry, by seed, as ``cut_numbers`` does.

    Raises:
        ValueError: a value is NaN or infinite.
    """
    return dict(zip(values, cut_numbers(values.values()), strict=True))


def _cut(number: float) -> float:
    return 0.0 if abs(number) < SMALLEST else max(-LARGEST, min(LARGEST, number))


def check_times(times: Iterable[float]) -> None:
    """Check that times are numbers from 0 on.

    Raises:
        ValueError: a time is NaN or negative.
    """
    for time in times:
        if math.isnan(time) or time < 0:
            raise ValueError(f"a time is negative or not a number: {time}")


def cut_points(points: Iterable[Point]) -> list[Point]:
    """Check the values and times of a curve's points, and limit the values to the range of ``cut_numbers``.

    Raises:
        ValueError: a value is NaN or infinite, or a time is NaN or negative.
    """
    found = list(points)
    for step, value, seconds in found:
        if not math.isfinite(value):
            raise ValueError(f"the value at step {step} is not a number, or infinite")
        if not (step >= 0 and seconds >= 0):
            raise ValueError(f"a time is negative or not a number: step {step}, {seconds} s")
    values = cut_numbers(point.value for point in found)
    return [Point(step, value, seconds) for (step, _, seconds), value in zip(found, values, strict=True)]


def gain(value: float, direction: Direction) -> float:
    """Change the sign of a value if less is better, so that more is better. Applied twice, it gives the value back."""
    return value if direction == "maximize" else -value

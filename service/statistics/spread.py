"""Whether numbers differ at all, and what no statistic is computed from."""

import math
from collections.abc import Iterable, Sequence

from normcore.spec.metric import Direction

LEVEL = 0.95
RELATIVE = 1e-12


def has_spread(values: Sequence[float]) -> bool:
    """Whether numbers differ by more than rounding: max - min > 1e-12 max|x|."""
    return max(values) - min(values) > RELATIVE * max(map(abs, values))


def check_numbers(values: Iterable[float]) -> None:
    """Raises:
    ValueError: one is NaN.
    """
    if any(map(math.isnan, values)):
        raise ValueError("a value is not a number")


def check_times(times: Iterable[float]) -> None:
    """Raises:
    ValueError: one is NaN or negative.
    """
    for time in times:
        if math.isnan(time) or time < 0:
            raise ValueError(f"a time is negative or not a number: {time}")


def gain(value: float, direction: Direction) -> float:
    """The value, turned so that more is better; turned once more, the value."""
    return value if direction == "maximize" else -value

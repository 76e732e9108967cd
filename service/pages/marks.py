"""Marks of numbers: place on an axis, interval, and a dot for each seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from service.pages.axes import Axis


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


def mark(axis: Axis, mean: float, limits: Sequence[float] | None, dots: Sequence[float] = ()) -> Mark:
    """Mark of a number on an axis."""
    return Mark(
        at=axis.at(mean),
        limits=(axis.at(limits[0]), axis.at(limits[1])) if limits else None,
        dots=[axis.at(dot) for dot in dots if axis.beyond(dot) is None],
        beyond=axis.beyond(mean),
    )

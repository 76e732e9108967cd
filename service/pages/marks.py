"""Marks of numbers: place on an axis, interval, and a dot for each seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from service.pages.axes import Axis


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark of a number, in per cent of the axis.

    Attributes:
        limits: of its interval.
        dots: single seeds.
        beyond: at which end it is too far out to be shown, if it is.
    """

    at: float
    limits: tuple[float, float] | None
    dots: Sequence[float]
    beyond: Literal["low", "high"] | None


def mark(axis: Axis, mean: float, limits: Sequence[float] | None, dots: Sequence[float] = ()) -> Mark:
    """A number's place on an axis."""
    return Mark(
        at=axis.at(mean),
        limits=(axis.at(limits[0]), axis.at(limits[1])) if limits else None,
        dots=[axis.at(dot) for dot in dots if axis.beyond(dot) is None],
        beyond=axis.beyond(mean),
    )

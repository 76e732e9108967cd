"""Reduction of a curve to fewer points."""

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P", bound=tuple[float, float, float])  # step, value, seconds
VALUE = itemgetter(1)


def downsample(points: Sequence[P], max_points: int) -> list[P]:
    """Reduce a curve to at most ``max_points`` points, in order: the first point, the last point, and the lowest and
    highest point of each stretch between them.

    Args:
        max_points: at least 4.
    """
    if len(points) <= max_points:
        return list(points)
    inner = points[1:-1]
    stretches = (max_points - 2) // 2
    kept: list[P] = []
    for k in range(stretches):
        stretch = inner[k * len(inner) // stretches : (k + 1) * len(inner) // stretches]
        kept += sorted({min(stretch, key=VALUE), max(stretch, key=VALUE)})
    return [points[0], *kept, points[-1]]


def spread(items: Sequence[T], most: int) -> list[T]:
    """Choose at most ``most`` items, evenly spread, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]

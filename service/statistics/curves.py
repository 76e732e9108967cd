"""Mean curve of several seeds, at each step or second, with a confidence interval at each point."""

import statistics
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from normcore.target import Point
from service.statistics.differences import Floats
from service.statistics.spread import cut_points
from service.statistics.values import NOMINAL, UNLIMITED, Limits, interval

GRID = 200  # evenly spaced seconds at which curves are compared

At = tuple[float, float, float]
"""Step, value and seconds of a point of a curve, which may lie between two evaluations."""


class Band(NamedTuple):
    """One point of a mean curve, over the seeds that have a value at this point.

    Attributes:
        step, seconds, mean: mean step, mean seconds and mean value of these seeds.
        low, high: limits of the mean's confidence interval, for this point alone; None for one seed.
        n: number of these seeds.
    """

    step: float
    seconds: float
    mean: float
    low: float | None
    high: float | None
    n: int


def means(curves: Mapping[int, Sequence[Point]]) -> list[At]:
    """Mean of the seeds at each step where a curve has a value.

    Raises:
        ValueError: a value is NaN, or a time is negative.
    """
    return [_mean(at) for at in _at_steps(curves)]


def by_steps(
    curves: Mapping[int, Sequence[Point]], steps: Container[float] | None = None, limits: Limits = UNLIMITED
) -> list[Band]:
    """Mean of the seeds with its interval, at each step where a curve has a value.

    Args:
        steps: steps to compute; None for all steps.
        limits: bounds and resolution of the values.

    Raises:
        ValueError: a value is NaN, or a time is negative.
    """
    return [_band(at, limits) for at in _at_steps(curves) if steps is None or at[0][0] in steps]


def _at_steps(curves: Mapping[int, Sequence[Point]]) -> list[list[At]]:
    """Values of the seeds at each step, in the order of the steps."""
    at: dict[int, list[At]] = {}
    for points in curves.values():
        for step, value, seconds in cut_points(points):
            at.setdefault(step, []).append((step, value, seconds))
    return [at[step] for step in sorted(at)]


def by_seconds(curves: Mapping[int, Sequence[Point]], size: int = GRID, limits: Limits = UNLIMITED) -> list[Band]:
    """Mean of the seeds with its interval at equal seconds, linear between two evaluations. The mean curve goes from
    the time when all seeds have a value to the end of the shortest curve. A seed without values is left out.

    Args:
        size: number of points.
        limits: bounds and resolution of the values.

    Raises:
        ValueError: a value is NaN, or a time is negative.
    """
    seen = [cut_points(points) for points in curves.values() if points]
    if not seen:
        return []
    first = max(points[0].seconds for points in seen)
    last = min(points[-1].seconds for points in seen)
    if first > last:
        return []
    grid = np.linspace(first, last, size if last > first else 1)
    rows = [_at(points, grid) for points in seen]
    return [_band(points, limits) for points in zip(*rows, strict=True)]


def _at(points: Sequence[Point], seconds: Floats) -> list[At]:
    known = [point.seconds for point in points]
    steps = np.interp(seconds, known, [point.step for point in points])
    values = np.interp(seconds, known, [point.value for point in points])
    return list(zip(steps.tolist(), values.tolist(), seconds.tolist(), strict=True))


def _mean(at: Sequence[At]) -> At:
    step, value, seconds = map(statistics.fmean, zip(*at, strict=True))
    return step, value, seconds


def _band(at: Sequence[At], limits: Limits) -> Band:
    step, value, seconds = _mean(at)
    low, high = interval([value for _, value, _ in at], NOMINAL, limits) or (None, None)
    return Band(step, seconds, value, low, high, len(at))

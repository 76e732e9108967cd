"""Performance profiles: how often a method is within a factor of the fastest method (Dolan and More 2002)."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from service.statistics.spread import check_numbers, check_times

WIDEST = 4.0
"""Largest factor that counts: a method slower than this times the fastest method gains nothing on the task (Dahl et al.
2023, arXiv:2306.07179)."""


class PerformanceProfile(NamedTuple):
    """Performance profile of one method.

    Attributes:
        ratios: for each task that some method reached: the method's time divided by the fastest method's; infinite if
            the method did not reach the target.
        rho: for each factor ``tau``: the share of tasks with a ratio of at most ``tau``.
        area: area under rho from 1 to ``WIDEST``, scaled so that a method that is the fastest on all tasks has 1.
    """

    ratios: Sequence[float]
    rho: Sequence[float]
    area: float


def profiles(times: Mapping[str, Mapping[str, float | None]], taus: Sequence[float]) -> dict[str, PerformanceProfile]:
    """Compute the performance profile of each method.

    Args:
        times: time of each method on each task, by method and task; None if the method did not reach the task's target.
        taus: factors at which ``rho`` is computed.

    Raises:
        ValueError: a time is NaN or negative, or a factor is NaN.
    """
    check_times(time for own in times.values() for time in own.values() if time is not None)
    check_numbers(taus)
    tasks = sorted({task for own in times.values() for task in own})
    of_method = {method: [_replace_none(own.get(task)) for task in tasks] for method, own in times.items()}
    least = [min(column) for column in zip(*of_method.values(), strict=True)]
    found = {}
    for method, own in of_method.items():
        ratios = [_ratio(time, best) for time, best in zip(own, least, strict=True) if math.isfinite(best)]
        if ratios:
            rho = [sum(ratio <= tau for ratio in ratios) / len(ratios) for tau in taus]
            area = math.fsum(max(0.0, (WIDEST - ratio) / (WIDEST - 1)) for ratio in ratios) / len(ratios)
            found[method] = PerformanceProfile(ratios, rho, area)
    return found


def flips(times: Mapping[str, Mapping[str, float | None]]) -> list[tuple[str, str]]:
    """Find pairs of methods whose order changes if the two are compared without other methods. This is possible because
    ratios are to the fastest method, which may be a third one (Gould and Scott 2016). The method with the larger area
    among all methods comes first in its pair.

    Raises:
        ValueError: a time is NaN or negative.
    """
    area = {method: found.area for method, found in profiles(times, ()).items()}
    ordered = sorted(area, key=lambda method: (-area[method], method))
    return [(a, b) for a, b in combinations(ordered, 2) if area[a] > area[b] and _is_behind(times, a, b)]


def _is_behind(times: Mapping[str, Mapping[str, float | None]], a: str, b: str) -> bool:
    alone = profiles({a: times[a], b: times[b]}, ())
    return bool(alone) and alone[a].area < alone[b].area


def _ratio(time: float, least: float) -> float:
    """Ratio of a time to the least time. If the least time is 0, a time of 0 has the ratio 1, and other times are
    infinite.
    """
    if time == least:
        return 1.0
    return time / least if least else math.inf


def _replace_none(time: float | None) -> float:
    return math.inf if time is None else time

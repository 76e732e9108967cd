"""Timing certificate: tells if something else kept the machine busy during a run, so that the seconds do not count."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from service.statistics.spread import check_times

KNOWN_FROM = 5  # earlier medians of a host that are needed to tell its quiet time
WINDOWS_FROM = 5  # windows between evaluations that the share of slow windows needs
MAX_KERNEL_RATIO, MAX_SLOW_SHARE = 1.10, 0.10
SLOW = 1.25  # a slow window takes more than this times the median window


class Certificate(NamedTuple):
    """Certificate of a run: the speed of a reference kernel before and after the run, and the share of slow windows.

    Attributes:
        before, after: median seconds of the kernel before and after the run.
        quiet: seconds of the kernel while nothing else runs.
        kernel_ratio: the larger of ``before`` and ``after``, divided by ``quiet``.
        slow_share: share of slow windows between evaluations; None for fewer than five windows.
        contended: whether something else kept the machine busy.
    """

    before: float
    after: float
    quiet: float
    kernel_ratio: float
    slow_share: float | None
    contended: bool


def certificate(
    before: Sequence[float], after: Sequence[float], known: Sequence[float], windows: Sequence[float]
) -> Certificate:
    """Tell if something else kept the machine busy during a run.

    Args:
        before, after: seconds of the kernel, timed several times before and after the run.
        known: median seconds of the kernel in the host's earlier runs.
        windows: seconds between evaluations, in order. The first window is left out, because it has the warm-up.

    Raises:
        ValueError: a time is NaN or negative, the kernel was not timed, or it took no time.
    """
    check_times([*before, *after, *known, *windows])
    if not before or not after:
        raise ValueError("the reference kernel was not timed both before and after the run")
    first, last = statistics.median(before), statistics.median(after)
    quiet = float(np.quantile(known, 0.1)) if len(known) >= KNOWN_FROM else min(first, last)
    if not quiet:
        raise ValueError("the reference kernel took no time (0 s), so there is no ratio to it")
    ratio, slow = max(first, last) / quiet, _slow_share(windows[1:])
    contended = ratio > MAX_KERNEL_RATIO or (slow is not None and slow > MAX_SLOW_SHARE)
    return Certificate(first, last, quiet, ratio, slow, contended)


def _slow_share(windows: Sequence[float]) -> float | None:
    if len(windows) < WINDOWS_FROM:
        return None
    limit = SLOW * statistics.median(windows)
    return sum(window > limit for window in windows) / len(windows)

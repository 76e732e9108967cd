"""Timing certificate: tells if a run's seconds may be compared, as nothing else kept its machine busy."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from service.statistics.spread import check_times

KNOWN_FROM = 5  # earlier medians of a host, from which on they say what is quiet
WINDOWS_FROM = 5  # between evaluations
MOST_KERNEL_RATIO, MOST_SLOW_SHARE = 1.10, 0.10
SLOW = 1.25  # times the median window


class Certificate(NamedTuple):
    """Seconds of a reference kernel before and after a run, and of the run between its evaluations.

    Attributes:
        before, after: medians.
        quiet: what the kernel takes where nothing else runs.
        kernel_ratio: the slower median over that.
        slow_share: of the windows; None of fewer than five.
        contended: whether something else ran.
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
    """Judge a run.

    Args:
        before, after: seconds of the kernel, some times.
        known: medians of the host's earlier runs.
        windows: seconds between evaluations, in their order; the first is left out, for it warms up.

    Raises:
        ValueError: a time is NaN or negative, the kernel was not timed, or it took no time.
    """
    check_times([*before, *after, *known, *windows])
    if not before or not after:
        raise ValueError("the kernel was not timed before and after the run")
    first, last = statistics.median(before), statistics.median(after)
    quiet = float(np.quantile(known, 0.1)) if len(known) >= KNOWN_FROM else min(first, last)
    if not quiet:
        raise ValueError("the kernel took no time; nothing is a ratio to that")
    ratio, slow = max(first, last) / quiet, _slow_share(windows[1:])
    contended = ratio > MOST_KERNEL_RATIO or (slow is not None and slow > MOST_SLOW_SHARE)
    return Certificate(first, last, quiet, ratio, slow, contended)


def _slow_share(windows: Sequence[float]) -> float | None:
    if len(windows) < WINDOWS_FROM:
        return None
    limit = SLOW * statistics.median(windows)
    return sum(window > limit for window in windows) / len(windows)

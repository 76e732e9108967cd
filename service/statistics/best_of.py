"""What the best of k trials would have been worth (Tang et al. 2020, arXiv:2004.14503)."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np

from normcore.spec.metric import Direction
from service.statistics.spread import check_numbers, gain


class Trial(NamedTuple):
    """A cell of a sweep: by which value it is chosen, and what it is then worth.

    Attributes:
        valid: None if it diverged, and is chosen last.
        test: of one that diverged, what a model gets that ignores its input.
    """

    valid: float | None
    test: float


class BestOf(NamedTuple):
    """Over all choices of k of the trials: the mean, and the 5% and 95% points, which are luck of the draw and no
    interval of anything."""

    expected: float
    low: float
    high: float


class Flip(NamedTuple):
    """A number of trials from which on the other one is better; beyond half of them few choices are left to tell."""

    k: int
    is_uncertain: bool


def best_of(trials: Sequence[Trial], k: int, direction: Direction) -> BestOf:
    """Choose k of n trials at random, keep the one with the best validation value, and look at its test value.

    Raises:
        ValueError: there are fewer than k, or a value is NaN.
    """
    if not 1 <= k <= len(trials):
        raise ValueError(f"expected 1 to {len(trials)} trials to choose, received {k}")
    check_numbers(value for trial in trials for value in trial if value is not None)
    chosen_by = partial(_chosen_by, direction=direction)
    equal = [[trial.test for trial in same] for _, same in groupby(sorted(trials, key=chosen_by), key=chosen_by)]
    values, weights = [statistics.fmean(tests) for tests in equal], list(_weights(map(len, equal), len(trials), k))
    low, high = np.quantile(values, [0.05, 0.95], method="inverted_cdf", weights=weights)
    expected = math.fsum(weight * value for weight, value in zip(weights, values, strict=True))
    return BestOf(expected, float(low), float(high))


def budget_flips(a: Sequence[Trial], b: Sequence[Trial], direction: Direction) -> list[Flip]:
    """Where the one that is better after k trials is no longer the one that was after fewer."""
    most = min(len(a), len(b))
    flips, before = [], 0.0
    for k in range(1, most + 1):
        difference = best_of(a, k, direction).expected - best_of(b, k, direction).expected
        if difference and before and (difference > 0) != (before > 0):
            flips.append(Flip(k, 2 * k > most))
        before = difference or before
    return flips


def _chosen_by(trial: Trial, direction: Direction) -> float:
    return -math.inf if trial.valid is None else gain(trial.valid, direction)


def _weights(counts: Iterable[int], n: int, k: int) -> Iterator[float]:
    """How often the best of k is in each group of equally good trials, from the worst on; a group is worth its mean."""
    begin = 0
    for count in counts:
        yield sum(math.comb(i, k - 1) for i in range(begin, begin + count)) / math.comb(n, k)
        begin += count

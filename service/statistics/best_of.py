"""Expected value of the best of k trials (Tang et al. 2020, arXiv:2004.14503)."""

import math
import statistics
from collections.abc import Sequence
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


class _Ranked(NamedTuple):
    """Trials from the worst to the best; those that are chosen alike are one group, worth its mean."""

    values: list[float]
    counts: list[int]

    @property
    def n(self) -> int:
        return sum(self.counts)


def best_of_each_number(trials: Sequence[Trial], direction: Direction) -> list[BestOf]:
    """Expected best of 1, 2, … and all trials: of k that are chosen at random, the test value of the one with the best
    validation value.

    Raises:
        ValueError: a value is NaN.
    """
    ranked = _ranked(trials, direction)
    return [_best_of(ranked, k) for k in range(1, len(trials) + 1)]


def flips(a: Sequence[BestOf], b: Sequence[BestOf]) -> list[Flip]:
    """Numbers of trials k at which the better method is another one than with fewer trials.

    Args:
        a, b: results of ``best_of_each_number``.
    """
    most = min(len(a), len(b))
    found, before = [], 0.0
    for k, (own, other) in enumerate(zip(a, b, strict=False), start=1):
        difference = own.expected - other.expected
        if difference and before and (difference > 0) != (before > 0):
            found.append(Flip(k, 2 * k > most))
        before = difference or before
    return found


def _ranked(trials: Sequence[Trial], direction: Direction) -> _Ranked:
    check_numbers(value for trial in trials for value in trial if value is not None)
    chosen_by = partial(_chosen_by, direction=direction)
    equal = [[trial.test for trial in same] for _, same in groupby(sorted(trials, key=chosen_by), key=chosen_by)]
    return _Ranked([statistics.fmean(tests) for tests in equal], [len(tests) for tests in equal])


def _chosen_by(trial: Trial, direction: Direction) -> float:
    return -math.inf if trial.valid is None else gain(trial.valid, direction)


def _best_of(ranked: _Ranked, k: int) -> BestOf:
    weights = _weights(ranked, k)
    low, high = np.quantile(ranked.values, [0.05, 0.95], method="inverted_cdf", weights=weights)
    return BestOf(_expected(ranked, weights), float(low), float(high))


def _expected(ranked: _Ranked, weights: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, ranked.values, strict=True))


def _weights(ranked: _Ranked, k: int) -> list[float]:
    """Probabilities that the best of k is in each group. The i-th trial from below is the best of C(i - 1, k - 1)
    choices. Each number is computed from the one before, which takes a tenth of the time.
    """
    of_all, weights, i, choices = math.comb(ranked.n, k), [], 0, 0
    for count in ranked.counts:
        of_group = 0
        for _ in range(count):
            i += 1
            choices = choices * (i - 1) // (i - k) if i > k else int(i == k)
            of_group += choices
        weights.append(of_group / of_all)
    return weights

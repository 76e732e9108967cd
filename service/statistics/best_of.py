"""Expected value of the best of k trials (Tang et al. 2020, arXiv:2004.14503)."""

import math
import statistics
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np

from normcore.spec.metric import Direction
from service.statistics.spread import cut_number, gain


class Trial(NamedTuple):
    """A cell of a sweep as a search sees it: chosen by validation value, judged by test value.

    Attributes:
        valid: validation value; None for a cell that diverged, which is chosen last.
        test: test value; for a cell that diverged, the value of a model that ignores its input.
    """

    valid: float | None
    test: float


class BestOf(NamedTuple):
    """Test value of the best of k trials, over all choices of k trials: the mean, and the 5% and 95% points. The points
    show the luck of the draw; they are not a confidence interval."""

    expected: float
    low: float
    high: float


class Flip(NamedTuple):
    """Smallest number of trials k from which the other method is better. It is uncertain beyond half of the trials,
    because there are then few choices of k trials.
    """

    k: int
    is_uncertain: bool


class _RankedTrials(NamedTuple):
    """Trials from the worst to the best. Trials with equal validation values are one group with one mean test value."""

    values: list[float]
    counts: list[int]

    @property
    def n(self) -> int:
        return sum(self.counts)


def best_of_each_number(trials: Sequence[Trial], direction: Direction) -> list[BestOf]:
    """Compute the expected best of 1, 2, … and all trials. From k trials at random, the trial with the best validation
    value is chosen, and its test value counts.

    Raises:
        ValueError: a value is NaN.
    """
    ranked = _rank_trials(trials, direction)
    return [_best_of(ranked, k) for k in range(1, len(trials) + 1)]


def flips(a: Sequence[BestOf], b: Sequence[BestOf]) -> list[Flip]:
    """Find the numbers of trials k at which the better of two methods changes, compared with fewer trials.

    Args:
        a, b: results of ``best_of_each_number`` for the two methods.
    """
    most = min(len(a), len(b))
    found, before = [], 0.0
    for k, (own, other) in enumerate(zip(a, b, strict=False), start=1):
        difference = own.expected - other.expected
        if difference and before and (difference > 0) != (before > 0):
            found.append(Flip(k, 2 * k > most))
        before = difference or before
    return found


def _rank_trials(trials: Sequence[Trial], direction: Direction) -> _RankedTrials:
    trials = [Trial(None if valid is None else cut_number(valid), cut_number(test)) for valid, test in trials]
    chosen_by = partial(_rate_trial, direction=direction)
    equal = [[trial.test for trial in same] for _, same in groupby(sorted(trials, key=chosen_by), key=chosen_by)]
    return _RankedTrials([statistics.fmean(tests) for tests in equal], [len(tests) for tests in equal])


def _rate_trial(trial: Trial, direction: Direction) -> float:
    return -math.inf if trial.valid is None else gain(trial.valid, direction)


def _best_of(ranked: _RankedTrials, k: int) -> BestOf:
    weights = _weights(ranked, k)
    low, high = np.quantile(ranked.values, [0.05, 0.95], method="inverted_cdf", weights=weights)
    return BestOf(_expect_value(ranked, weights), float(low), float(high))


def _expect_value(ranked: _RankedTrials, weights: Sequence[float]) -> float:
    return math.fsum(weight * value for weight, value in zip(weights, ranked.values, strict=True))


def _weights(ranked: _RankedTrials, k: int) -> list[float]:
    """Probability for each group that the best of k trials is in this group. The i-th worst trial is the best in
    C(i - 1, k - 1) choices. Each binomial coefficient is computed from the previous one, in a tenth of the time.
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

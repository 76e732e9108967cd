"""Difference of two entries, and its test."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, stdtr, stdtrit

from service.statistics.spread import LEVEL, RELATIVE, cut_number, cut_numbers
from service.statistics.values import UNLIMITED, Interval, Limits

PAIRED_FROM = 5  # common seeds that a paired test needs
AT_ONCE = 2**14  # pairs that are tested in one go

Floats = NDArray[np.float64]
Counts = NDArray[np.int_]


class MeanDifference(NamedTuple):
    """Difference of the means of two entries.

    Attributes:
        ci95: confidence interval of ``mean``; None if what is tested has no spread: the differences of common seeds, or
            the values of both entries.
        p_value: how often chance alone makes such a difference.
        seeds: number of seeds that both entries have.
    """

    mean: float
    ci95: Interval | None
    p_value: float
    seeds: int

    def within(self, limits: Limits) -> "MeanDifference":
        """Cut the confidence interval to the differences that are possible."""
        return self._replace(ci95=self.ci95 and limits.cut(self.ci95, self.mean))


class Pairs(NamedTuple):
    """Differences of N entries, pair by pair, in arrays (N, N): the row's entry minus the column's entry.

    Attributes:
        mean: differences of the means.
        p_value: p-values; NaN where there are too few seeds for a test, and on the diagonal.
    """

    mean: Floats
    p_value: Floats


class _Samples(NamedTuple):
    """Statistics of K entries, (K,) each: number of seeds, mean, and square of the mean's standard error (``part``)."""

    n: Counts
    mean: Floats
    part: Floats

    def at(self, chosen: NDArray[Any]) -> "_Samples":
        return _Samples(self.n[chosen], self.mean[chosen], self.part[chosen])


class _Tests(NamedTuple):
    """Tests of K pairs, (K,) each. ``error`` is the standard error of the mean difference; it is 0 where there is no
    spread. ``freedom`` is the number of degrees of freedom.
    """

    mean: Floats
    error: Floats
    freedom: Floats
    p_value: Floats


def pair(a: Mapping[int, float], b: Mapping[int, float], limits: Limits = UNLIMITED) -> MeanDifference | None:
    """Test the difference a - b of two entries, from their values by seed.

    With five or more common seeds that are at least half of the smaller set, Student's t tests the differences of the
    common seeds. Else Welch's t tests the values of all seeds (Welch 1947).

    Args:
        limits: bounds of the values, to which the interval is cut: a difference of two shares lies between -1 and 1.

    Returns:
        None if there are too few seeds for either test.

    Raises:
        ValueError: a value is NaN.
    """
    [found] = each_pair([a], [b])
    return found and found.within(limits.of_differences)


def each_pair(a: Sequence[Mapping[int, float]], b: Sequence[Mapping[int, float]]) -> list[MeanDifference | None]:
    """Test the differences a[0] - b[0], a[1] - b[1] and so on, each as ``pair`` does, but without limits.

    Raises:
        ValueError: a value is NaN.
    """
    rows = by_seed([*a, *b])
    tests = _compare(rows[:, : len(a)], rows[:, len(a) :])
    half = tests.error * stdtrit(tests.freedom, (1 + LEVEL) / 2)
    return [
        None if math.isnan(p_value) else MeanDifference(mean, (mean - h, mean + h) if error else None, p_value, seeds)
        for mean, error, p_value, h, seeds in zip(
            tests.mean.tolist(),
            tests.error.tolist(),
            tests.p_value.tolist(),
            half.tolist(),
            (len(own.keys() & other.keys()) for own, other in zip(a, b, strict=True)),
            strict=True,
        )
    ]


def pairs(values: Sequence[Mapping[int, float]], ceilings: Sequence[float] | None = None) -> Pairs:
    """Test the difference of every two entries, as ``pair`` does.

    Args:
        values: the values of each entry, by seed.
        ceilings: a ceiling for each entry. For a pair, larger values count as the smaller of the pair's two ceilings.

    Raises:
        ValueError: a value is NaN.
    """
    rows, n = by_seed(values), len(values)
    samples, highest = _samples(rows), np.fmax.reduce(rows, axis=0)
    ceiling_of = np.full(n, np.inf) if ceilings is None else np.array(list(map(_cut_ceiling, ceilings)))
    first, second = np.triu_indices(n, 1)
    ceiling = np.minimum(ceiling_of[first], ceiling_of[second])
    cut = ceiling < np.maximum(highest[first], highest[second])
    found = Pairs(np.zeros((n, n)), np.full((n, n), np.nan))
    for i, j in _portions(first[~cut], second[~cut]):
        _enter(found, i, j, _tests(rows[:, i], rows[:, j], samples.at(i), samples.at(j)))
    for i, j, most in _portions(first[cut], second[cut], ceiling[cut]):
        _enter(found, i, j, _compare(np.minimum(rows[:, i], most), np.minimum(rows[:, j], most)))
    return found


def _cut_ceiling(ceiling: float) -> float:
    return cut_number(ceiling) if math.isfinite(ceiling) else ceiling


def _portions(*arrays: NDArray[Any]) -> Iterator[Sequence[NDArray[Any]]]:
    """Slice the arrays into portions that are small enough for the processor's caches."""
    for begin in range(0, len(arrays[0]), AT_ONCE):
        yield [array[begin : begin + AT_ONCE] for array in arrays]


def _enter(found: Pairs, i: Counts, j: Counts, tests: _Tests) -> None:
    found.mean[i, j], found.p_value[i, j] = tests.mean, tests.p_value
    found.mean[j, i], found.p_value[j, i] = -tests.mean, tests.p_value


def by_seed(values: Sequence[Mapping[int, float]]) -> Floats:
    """Array (seeds, entries) of the values, cut by ``cut_numbers``; NaN where an entry does not have the seed.

    Seeds are the first axis because numpy adds up a few long rows faster than many short ones.

    Raises:
        ValueError: a value is NaN.
    """
    numbers = cut_numbers(value for own in values for value in own.values())
    seeds = {seed: row for row, seed in enumerate(sorted({seed for own in values for seed in own}))}
    rows = np.full((max(1, len(seeds)), len(values)), np.nan)
    at = [(seeds[seed], entry) for entry, own in enumerate(values) for seed in own]
    if at:
        rows[tuple(np.transpose(at))] = numbers
    return rows


def _compare(a: Floats, b: Floats) -> _Tests:
    """Test the differences a - b of K pairs of entries, from their values by seed, (S, K) each."""
    return _tests(a, b, _samples(a), _samples(b))


def _tests(a: Floats, b: Floats, of_a: _Samples, of_b: _Samples) -> _Tests:
    """Test the differences a - b of K pairs of entries: paired where enough seeds are common, else by Welch's t.

    Args:
        a, b: values by seed, (S, K) each.
        of_a, of_b: statistics of the same entries, which are known already.
    """
    common = np.count_nonzero(~np.isnan(a) & ~np.isnan(b), axis=0)
    paired = (common >= PAIRED_FROM) & (2 * common >= np.minimum(of_a.n, of_b.n))
    with np.errstate(invalid="ignore", divide="ignore"):
        if paired.all():
            return _test_pairs(a, b, common)
        if not paired.any():
            return _welch(of_a, of_b)
        both = _Tests(*np.empty((4, len(paired))))
        seed_by_seed = _test_pairs(a[:, paired], b[:, paired], common[paired])
        by_all = _welch(of_a.at(~paired), of_b.at(~paired))
        for whole, some, others in zip(both, seed_by_seed, by_all, strict=True):
            whole[paired], whole[~paired] = some, others
        return both


def _test_pairs(a: Floats, b: Floats, n: Counts) -> _Tests:
    differences = _beyond_rounding(a, b)
    mean, variance = _moments(differences, n)
    error = np.where(_has_spread(differences), np.sqrt(variance / n), 0.0)
    exact = np.where(mean == 0, 1.0, 2.0 ** (1 - n))
    freedom: Floats = n - np.float64(1)
    return _Tests(mean, error, freedom, np.where(error > 0, _two_sided(mean / error, freedom), exact))


def _beyond_rounding(a: Floats, b: Floats) -> Floats:
    """Differences a - b, (S, K). A difference is 0 if it is only the rounding of the pair's largest value."""
    differences: Floats = a - b
    most = np.fmax.reduce(np.maximum(np.abs(a), np.abs(b)), axis=0)
    differences[np.abs(differences) <= RELATIVE * most] = 0.0
    return differences


def _welch(a: _Samples, b: _Samples) -> _Tests:
    mean, error = a.mean - b.mean, np.sqrt(a.part + b.part)
    freedom: Floats = (a.part + b.part) ** 2 / (a.part**2 / (a.n - 1) + b.part**2 / (b.n - 1))
    apart = np.abs(mean) > RELATIVE * np.maximum(np.abs(a.mean), np.abs(b.mean))
    p_value = _two_sided(mean / error, freedom)
    still = ~(error > 0)
    p_value[still] = np.where(apart[still], 2 / comb(a.n[still] + b.n[still], a.n[still]), 1.0)
    p_value[np.minimum(a.n, b.n) < 2] = np.nan
    return _Tests(np.where(still & ~apart, 0.0, mean), error, freedom, p_value)


def _samples(values: Floats) -> _Samples:
    n = np.count_nonzero(~np.isnan(values), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, variance = _moments(values, n)
        return _Samples(n, mean, np.where(_has_spread(values), variance / n, 0.0))


def _moments(values: Floats, n: Counts) -> tuple[Floats, Floats]:
    missing = np.isnan(values)
    mean = np.where(missing, 0.0, values).sum(axis=0) / n
    return mean, np.where(missing, 0.0, (values - mean) ** 2).sum(axis=0) / (n - 1)


def _has_spread(values: Floats) -> NDArray[np.bool_]:
    """Tell for each entry if its values differ by more than rounding, as ``spread.has_spread`` does."""
    missing = np.isnan(values)
    lowest, highest = np.where(missing, np.inf, values).min(axis=0), np.where(missing, -np.inf, values).max(axis=0)
    found: NDArray[np.bool_] = highest - lowest > RELATIVE * np.maximum(np.abs(lowest), np.abs(highest))
    return found


def _two_sided(t: Floats, freedom: Floats) -> Floats:
    """Two-sided p-value of Student's t."""
    tail: Floats = stdtr(freedom, -np.abs(t))
    return 2 * tail


def holm(p: Floats) -> Floats:
    """Holm-adjusted p-values. Rejecting at 0.05 keeps the family-wise error rate at 5% (Holm 1979).

    Raises:
        ValueError: a p-value is NaN; leave out pairs that are not tested.
    """
    if np.isnan(p).any():
        raise ValueError("a p-value is not a number")
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum((len(p) - np.arange(len(p))) * p[order], 1.0))
    return adjusted

"""How far two entries are apart, and whether that may be chance."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, stdtr, stdtrit

from service.statistics.spread import LEVEL, RELATIVE, check_numbers
from service.statistics.values import Interval

PAIRED_FROM = 5  # common seeds

Floats = NDArray[np.float64]
Counts = NDArray[np.int_]


class Difference(NamedTuple):
    """Of two means.

    Attributes:
        ci95: None where no value differs from its mean.
        p_value: how often chance alone makes such a difference.
        seeds: how many both have.
    """

    mean: float
    ci95: Interval | None
    p_value: float
    seeds: int


class Pairs(NamedTuple):
    """Of N entries, each beside each: (N, N), the row's less the column's.

    Attributes:
        p_value: NaN where there are too few seeds to tell, and of an entry beside itself.
    """

    mean: Floats
    p_value: Floats


class _Tests(NamedTuple):
    """Of some pairs, (K,) each; ``error`` is that of the mean, 0 where nothing differs from it."""

    mean: Floats
    error: Floats
    freedom: Floats
    p_value: Floats


def pair(a: Mapping[int, float], b: Mapping[int, float]) -> Difference | None:
    """a - b, of values by seed: seed by seed by Student's t, if there are five common seeds or more that are half of
    the smaller set; else by Welch's t of all seeds (Welch 1947).

    Returns:
        None where there are too few seeds for either.

    Raises:
        ValueError: a value is NaN.
    """
    rows = by_seed([a, b])
    mean, error, freedom, p_value = (float(found[0]) for found in _compare(rows[:1], rows[1:]))
    if math.isnan(p_value):
        return None
    half = error * float(stdtrit(freedom, (1 + LEVEL) / 2))
    return Difference(mean, (mean - half, mean + half) if error else None, p_value, len(a.keys() & b.keys()))


def pairs(values: Sequence[Mapping[int, float]], ceilings: Sequence[float] | None = None) -> Pairs:
    """As ``pair`` has it, of each two entries.

    Args:
        values: of each entry, by seed.
        ceilings: of each entry; no value of two that are held beside each other counts as more than either's.

    Raises:
        ValueError: a value is NaN.
    """
    rows, n = by_seed(values), len(values)
    mean, p_value = np.zeros((n, n)), np.full((n, n), np.nan)
    for k in range(n - 1):
        own, others = rows[k : k + 1], rows[k + 1 :]
        if ceilings is not None:
            ceiling = np.minimum(ceilings[k], ceilings[k + 1 :])[:, None]
            own, others = np.minimum(own, ceiling), np.minimum(others, ceiling)
        found = _compare(own, others)
        mean[k, k + 1 :], p_value[k, k + 1 :] = found.mean, found.p_value
        mean[k + 1 :, k], p_value[k + 1 :, k] = -found.mean, found.p_value
    return Pairs(mean, p_value)


def by_seed(values: Sequence[Mapping[int, float]]) -> Floats:
    """(entries, seeds), NaN where an entry has not the seed.

    Raises:
        ValueError: a value is NaN.
    """
    check_numbers(value for own in values for value in own.values())
    seeds = {seed: column for column, seed in enumerate(sorted({seed for own in values for seed in own}))}
    rows = np.full((len(values), max(1, len(seeds))), np.nan)
    for row, own in zip(rows, values, strict=True):
        row[[seeds[seed] for seed in own]] = list(own.values())
    return rows


def _compare(a: Floats, b: Floats) -> _Tests:
    """a - b of rows of values by seed, (K, S) or (1, S)."""
    both = ~np.isnan(a) & ~np.isnan(b)
    of_a, of_b, common = (np.count_nonzero(known, axis=-1) for known in (~np.isnan(a), ~np.isnan(b), both))
    paired = (common >= PAIRED_FROM) & (2 * common >= np.minimum(of_a, of_b))
    with np.errstate(invalid="ignore", divide="ignore"):
        if paired.all():
            return _paired(a - b, common)
        by_all = _welch(a, b, of_a, of_b)
        if not paired.any():
            return by_all
        both_ways = zip(_paired(a - b, common), by_all, strict=True)
        return _Tests(*(np.where(paired, one, other) for one, other in both_ways))


def _paired(differences: Floats, n: Counts) -> _Tests:
    mean, variance = _moments(differences, n)
    error = np.where(_has_spread(differences), np.sqrt(variance / n), 0.0)
    exact = np.where(mean == 0, 1.0, 2.0 ** (1 - n))
    freedom: Floats = n - np.float64(1)
    return _Tests(mean, error, freedom, np.where(error > 0, _two_sided(mean / error, freedom), exact))


def _welch(a: Floats, b: Floats, of_a: Counts, of_b: Counts) -> _Tests:
    (mean_a, part_a), (mean_b, part_b) = _mean_and_part(a, of_a), _mean_and_part(b, of_b)
    mean, error = mean_a - mean_b, np.sqrt(part_a + part_b)
    freedom: Floats = (part_a + part_b) ** 2 / (part_a**2 / (of_a - 1) + part_b**2 / (of_b - 1))
    apart = np.abs(mean) > RELATIVE * np.maximum(np.abs(mean_a), np.abs(mean_b))
    exact = np.where(apart, 2 / comb(of_a + of_b, of_a), 1.0)
    p_value = np.where(error > 0, _two_sided(mean / error, freedom), exact)
    too_few = np.minimum(of_a, of_b) < 2
    return _Tests(np.where((error > 0) | apart, mean, 0.0), error, freedom, np.where(too_few, np.nan, p_value))


def _mean_and_part(values: Floats, n: Counts) -> tuple[Floats, Floats]:
    """The mean, and the square of its error."""
    mean, variance = _moments(values, n)
    return mean, np.where(_has_spread(values), variance / n, 0.0)


def _moments(values: Floats, n: Counts) -> tuple[Floats, Floats]:
    mean = np.nansum(values, axis=-1) / n
    return mean, np.nansum((values - mean[..., None]) ** 2, axis=-1) / (n - 1)


def _has_spread(values: Floats) -> NDArray[np.bool_]:
    """As ``spread.has_spread``, of each row."""
    lowest, highest = np.fmin.reduce(values, axis=-1), np.fmax.reduce(values, axis=-1)
    found: NDArray[np.bool_] = highest - lowest > RELATIVE * np.maximum(np.abs(lowest), np.abs(highest))
    return found


def _two_sided(t: Floats, freedom: Floats) -> Floats:
    """How often Student's t is as far from 0."""
    tail: Floats = stdtr(freedom, -np.abs(t))
    return 2 * tail


def holm(p: Floats) -> Floats:
    """p-values of as many tests, so that one of 20 families has any false alarm (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum((len(p) - np.arange(len(p))) * p[order], 1.0))
    return adjusted

"""Cut of numbers, and statistics of numbers of any size: all finite numbers have finite statistics."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from normcore.spec.metric import Direction
from normcore.target import Point
from service.statistics.agreement import agreement
from service.statistics.anytime import anytime, undecided
from service.statistics.best_of import Trial, best_of_each_number, flips
from service.statistics.curves import by_seconds, by_steps, means
from service.statistics.differences import each_pair, pair, pairs
from service.statistics.spread import LARGEST, SMALLEST, cut_numbers
from service.statistics.times import best_held, time_to_target, to_baselines_best
from service.statistics.values import Limits, interval, mean, value, worth

MOST = 1.7e308
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LISTS = st.lists(NUMBERS, max_size=8)
BY_SEED = st.dictionaries(st.integers(0, 9), NUMBERS, max_size=8)
DIRECTIONS: st.SearchStrategy[Direction] = st.sampled_from(["maximize", "minimize"])
LIMITS = st.sampled_from([Limits(), Limits(0.0, 1.0, 300), Limits(0.0)])
CURVES = st.dictionaries(st.integers(0, 4), st.lists(NUMBERS, min_size=1, max_size=5), max_size=4)

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def is_finite(found: Any) -> bool:
    """Tell if all numbers of a result are finite; an undefined number is None."""
    if isinstance(found, float):
        return math.isfinite(found)
    if isinstance(found, Mapping):
        return all(map(is_finite, found.values()))
    return all(map(is_finite, found)) if isinstance(found, Sequence) and not isinstance(found, str) else True


def by_seed(values: Sequence[float], first: int = 0) -> dict[int, float]:
    return dict(enumerate(values, first))


def curves_of(values: Mapping[int, Sequence[float]]) -> dict[int, list[Point]]:
    return {seed: [Point(10 * k, v, k + seed / 2) for k, v in enumerate(own)] for seed, own in values.items()}


def test_numbers_of_single_precision_are_not_cut() -> None:
    usual = [0.0, -0.0, 0.1, 1 / 3, -8.8e18, 3.4e38, 1.4e-45, LARGEST, -LARGEST, SMALLEST, -SMALLEST]
    assert list(map(float.hex, cut_numbers(usual))) == list(map(float.hex, usual))


@given(st.lists(st.floats(-LARGEST, LARGEST).filter(lambda number: number == 0 or abs(number) >= SMALLEST)))
def test_numbers_within_the_limits_keep_every_bit(numbers: list[float]) -> None:
    assert list(map(float.hex, cut_numbers(numbers))) == list(map(float.hex, numbers))


def test_numbers_too_large_or_too_small_for_a_fourth_power_are_cut() -> None:
    assert cut_numbers([1e155, -MOST, 0.5, 1e-155, -5e-324]) == [LARGEST, -LARGEST, 0.5, 0.0, 0.0]


def test_whole_numbers_of_json_become_floats() -> None:
    assert list(map(repr, cut_numbers([10**30, 10**300, 2]))) == ["1e+30", repr(LARGEST), "2.0"]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="not a number, or infinite"):
        cut_numbers([0.5, wrong])


@given(LISTS, st.integers(0, 3), DIRECTIONS, st.none() | NUMBERS, LIMITS)
@example([MOST, MOST, 2.1], 0, "minimize", None, Limits())
@example([1e180, 1.5e180, 3e180], 0, "minimize", None, Limits())
@example([MOST, -MOST], 1, "maximize", -MOST, Limits(0.0, 1.0, 300))
def test_values_are_finite(
    values: list[float], n_diverged: int, direction: Direction, no_skill: float | None, limits: Limits
) -> None:
    assert is_finite(value(values, n_diverged, direction, no_skill, limits))
    assert is_finite(mean(values))
    assert is_finite(interval(values, 0.97, limits))
    assert all(is_finite(worth(one, direction, no_skill)) for one in values)


@given(BY_SEED, BY_SEED, LIMITS)
@example(by_seed([1e100, 2e100, 4e100]), by_seed([1.0, 2.0, 4.0]), Limits())
@example(by_seed([1e-80, 2e-80, 4e-80]), by_seed([5e-80, 6e-80, 7e-80]), Limits())
@example(by_seed([MOST] * 5), by_seed([-MOST] * 4 + [0.0]), Limits())
def test_differences_of_pairs_are_finite(a: dict[int, float], b: dict[int, float], limits: Limits) -> None:
    """Two entries with two seeds or more always have a test."""
    found = pair(a, b, limits)
    assert is_finite(found)
    assert (found is not None) == (min(len(a), len(b)) >= 2)
    assert is_finite(each_pair([a, b], [b, a]))


@given(st.lists(BY_SEED, max_size=5), st.booleans())
@example([by_seed([1e100, 2e100, 4e100]), by_seed([1.0, 2.0, 4.0]), by_seed([MOST, -MOST, 1e-300])], True)
def test_differences_of_all_entries_are_finite(values: list[dict[int, float]], cut: bool) -> None:
    found = pairs(values, [max(own.values(), default=math.inf) for own in values] if cut else None)
    tested = [[i != j and min(len(a), len(b)) >= 2 for j, b in enumerate(values)] for i, a in enumerate(values)]
    assert np.isfinite(found.mean[~np.isnan(found.p_value)]).all()
    assert (~np.isnan(found.p_value)).tolist() == tested


@given(LISTS)
@example([1e-200, 3e-200])
@example([MOST, 1.0, MOST])
def test_anytime_tests_are_finite(differences: list[float]) -> None:
    assert is_finite(anytime(differences))


@given(st.lists(BY_SEED, max_size=4))
@example([by_seed([MOST, MOST, 1.0]), by_seed([-MOST, -MOST, 2.0])])
def test_entries_of_all_finite_values_are_decided_or_not(values: list[dict[int, float]]) -> None:
    assert set(undecided(values)) <= set(range(len(values)))


@given(BY_SEED, BY_SEED, LIMITS)
@example({100: MOST}, by_seed([0.0, 0.0, 0.0, 0.0, 5e-324]), Limits())
@example({100: -MOST, 101: MOST}, by_seed([MOST, 1e155, -MOST]), Limits())
def test_agreements_are_finite(claimed: dict[int, float], measured: dict[int, float], limits: Limits) -> None:
    if claimed:
        assert is_finite(agreement(claimed, measured, limits))


@given(CURVES, LIMITS)
@example({0: [1e180, MOST], 1: [1.5e180, -MOST], 2: [3e180, MOST]}, Limits())
def test_curves_are_finite(values: dict[int, list[float]], limits: Limits) -> None:
    curves = curves_of(values)
    assert is_finite(means(curves))
    assert is_finite(by_steps(curves, limits=limits))
    assert is_finite(by_seconds(curves, 7, limits))


@given(CURVES, CURVES, NUMBERS, DIRECTIONS, st.booleans())
@example({0: [-MOST, MOST, MOST]}, {0: [-MOST, MOST, MOST]}, MOST, "maximize", True)
@example({0: [1.0, 0.0, 0.0], 1: [1.0, -MOST, 0.0]}, {k: [1.0, 0.0, 0.0] for k in (0, 1)}, 0.0, "minimize", False)
def test_times_of_curves_are_finite(
    theirs: dict[int, list[float]],
    ours: dict[int, list[float]],
    target: float,
    direction: Direction,
    own_best: bool,
) -> None:
    for points in curves_of(theirs).values():
        assert is_finite(time_to_target(points, target, direction))
        assert is_finite(best_held(points, direction))
    assert is_finite(to_baselines_best(curves_of(theirs), curves_of(ours), direction, own_best=own_best))


@given(st.lists(st.builds(Trial, st.none() | NUMBERS, NUMBERS), max_size=8), DIRECTIONS)
@example([Trial(MOST, MOST), Trial(MOST, MOST), Trial(None, -MOST)], "minimize")
def test_the_best_of_trials_is_finite(trials: list[Trial], direction: Direction) -> None:
    found = best_of_each_number(trials, direction)
    assert is_finite(found)
    assert all(one.k < other.k for one, other in pairwise(flips(found, found[::-1])))

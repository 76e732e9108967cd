"""Curves of several seeds as one."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from normcore.target import Point
from service.statistics.curves import GRID, by_seconds, by_steps
from service.statistics.values import Limits

SLOW = [Point(10, 0.2, 1.0), Point(20, 0.4, 2.0), Point(30, 0.8, 4.0)]
FAST = [Point(10, 0.4, 0.5), Point(20, 0.6, 1.5), Point(30, 0.6, 2.0)]


def test_bands_by_steps_have_a_mean_and_an_interval_at_each_step() -> None:
    first, *_ = by_steps({0: SLOW, 1: FAST})
    half = 21.2049 * 0.1  # Student's t of one degree of freedom at 97%, times the mean's error
    assert (first.step, first.seconds, first.n) == (10, 0.75, 2)
    assert first.mean == pytest.approx(0.3)
    assert (first.low, first.high) == pytest.approx((0.3 - half, 0.3 + half), rel=1e-4)


def test_a_step_that_only_one_seed_has_counts_without_an_interval() -> None:
    bands = by_steps({0: SLOW, 1: FAST[:2], 2: [Point(25, 0.5, 3.0)]})
    assert [(band.step, band.n) for band in bands] == [(10, 2), (20, 2), (25, 1), (30, 1)]
    assert [band.low is None for band in bands] == [False, False, True, True]


def test_bands_by_seconds_cover_the_times_at_which_all_seeds_have_a_value() -> None:
    bands = by_seconds({0: SLOW, 1: FAST}, size=3)
    assert [band.seconds for band in bands] == [1.0, 1.5, 2.0]
    assert [band.mean for band in bands] == pytest.approx([(0.2 + 0.5) / 2, (0.3 + 0.6) / 2, (0.4 + 0.6) / 2])
    assert [band.step for band in bands] == pytest.approx([12.5, 17.5, 25])
    assert len(by_seconds({0: SLOW, 1: FAST})) == GRID


def test_a_seed_without_points_does_not_change_the_bands_of_the_others() -> None:
    assert by_seconds({0: SLOW, 1: [], 2: FAST}) == by_seconds({0: SLOW, 2: FAST}) != []
    assert by_seconds({0: []}) == []


def test_curves_that_do_not_overlap_have_no_bands_by_seconds() -> None:
    assert by_seconds({0: SLOW[2:], 1: FAST}) == []
    assert by_seconds({}) == by_steps({}) == by_steps({0: []}) == []


@pytest.mark.parametrize("wrong", [Point(20, float("nan"), 2.0), Point(20, 0.4, float("nan")), Point(20, 0.4, -2.0)])
def test_nan_values_and_invalid_times_are_refused_with_their_step(wrong: Point) -> None:
    for curves in ({0: SLOW, 1: [FAST[0], wrong]}, {0: [wrong]}):
        with pytest.raises(ValueError, match="step 20"):
            by_steps(curves)
        with pytest.raises(ValueError, match="step 20"):
            by_seconds(curves)


@given(st.lists(st.lists(st.floats(-10, 10), min_size=4, max_size=4), min_size=2, max_size=6))
def test_the_interval_of_a_band_agrees_with_scipy(rows: list[list[float]]) -> None:
    curves = {seed: [Point(10 * k, value, float(k)) for k, value in enumerate(row)] for seed, row in enumerate(rows)}
    for band, values in zip(by_steps(curves), zip(*rows, strict=True), strict=True):
        if np.std(values) > 1e-6:
            expected = scipy.stats.t.interval(0.97, len(values) - 1, np.mean(values), scipy.stats.sem(values))
            assert (band.low, band.high) == pytest.approx(expected)


def test_bands_are_cut_to_the_bounds_of_the_metric() -> None:
    """Hand computation: .3 +- 21.2049 x .1 at the first step, and .35 +- 21.2049 x .15 after one second."""
    for bands in (by_steps({0: SLOW, 1: FAST}, limits=Limits(0, 1)), by_seconds({0: SLOW, 1: FAST}, 3, Limits(0, 1))):
        assert {(band.low, band.high) for band in bands} == {(0, 1)}
    below = by_steps({0: SLOW, 1: FAST}, limits=Limits(0))
    assert [band.low for band in below] == [0, 0, 0]
    assert below[0].high == pytest.approx(0.3 + 2.12049, abs=1e-4)

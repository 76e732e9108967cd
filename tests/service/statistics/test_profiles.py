"""Profiles across tasks, against results worked out by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from service.statistics.profiles import WIDEST, flips, profiles
from tests.service.statistics.cases import is_as_expected, named


@named("profiles")
def test_profiles_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    inputs = case["inputs"]
    assert inputs["r_max"] == WIDEST
    assert is_as_expected(profiles(inputs["times"], inputs["tau"]), case["expected"])


def test_a_task_that_a_method_was_not_tried_on_counts_as_not_reached() -> None:
    found = profiles({"a": {"t1": 10.0}, "b": {"t1": 20.0, "t2": 5.0}}, [2.0])
    assert (found["a"].rho, found["a"].area) == ([0.5], 0.5)
    assert (found["b"].rho, found["b"].area) == ([1.0], (2 / 3 + 1) / 2)


def test_there_is_no_profile_if_no_method_reaches_a_target() -> None:
    assert profiles({"a": {"t1": None}}, [1.0]) == {}
    assert profiles({}, [1.0]) == {}


def test_a_method_with_a_time_of_0_has_area_1_and_slower_methods_area_0() -> None:
    found = profiles({"a": {"t": 0.0}, "b": {"t": 0.0}, "c": {"t": 1.0}}, [WIDEST])
    assert {method: one.area for method, one in found.items()} == {"a": 1.0, "b": 1.0, "c": 0.0}


@pytest.mark.parametrize("time", [-1.0, float("nan")])
def test_negative_times_and_nan_are_refused(time: float) -> None:
    for judge in (lambda times: profiles(times, ()), flips):
        with pytest.raises(ValueError, match="negative or not a number"):
            judge({"a": {"t": time}, "b": {"t": 1.0}})
    with pytest.raises(ValueError, match="not a number"):
        profiles({"a": {"t": 1.0}}, [float("nan")])


def test_a_third_method_can_reverse_the_order_of_two_others() -> None:
    """Hand computation: without c, a has the ratios 1 and 3.1, and b has 3 and 1. With c, four times as fast as b on
    t2, b gets nothing on t2.
    """
    times: dict[str, dict[str, float | None]] = {"a": {"t1": 10.0, "t2": 31.0}, "b": {"t1": 30.0, "t2": 10.0}}
    alone = profiles(times, ())
    assert alone["a"].area == pytest.approx((1 + 0.9 / 3) / 2)
    assert alone["b"].area == pytest.approx((1 / 3 + 1) / 2)
    assert flips(times) == []
    times["c"] = {"t1": 20.0, "t2": 2.5}
    beside = profiles(times, ())
    assert beside["a"].area == pytest.approx(1 / 2)
    assert beside["b"].area == pytest.approx((1 / 3 + 0) / 2)
    assert flips(times) == [("a", "b")]


def test_methods_that_tie_without_a_third_method_are_not_called_reversed() -> None:
    times: dict[str, dict[str, float | None]] = {"a": {"t1": 10.0, "t2": 20.0}, "b": {"t1": 20.0, "t2": 10.0}}
    times["c"] = {"t1": None, "t2": 5.0}
    found = profiles(times, ())
    assert found["a"].area < found["b"].area
    assert flips(times) == []


def test_the_ratio_to_a_fastest_time_of_0_is_infinite() -> None:
    assert profiles({"a": {"t": 0.0}, "b": {"t": 1.0}}, ())["b"].ratios == [float("inf")]


def test_methods_of_equal_area_are_not_called_reversed() -> None:
    """Hand computation: with c, a and b have 1/2 each, too late on t and first on u. Without c, b has 1 and a 5/6."""
    times = {"a": {"t": 100.0, "u": 1.0}, "b": {"t": 50.0, "u": 1.0}}
    assert {method: one.area for method, one in profiles(times, ()).items()} == {"a": pytest.approx(5 / 6), "b": 1.0}
    assert flips({**times, "c": {"t": 1.0}}) == []

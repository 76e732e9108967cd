"""Profiles across tasks, against results worked out by hand."""

from collections.abc import Mapping
from typing import Any

from service.statistics.profiles import WIDEST, profiles
from tests.service.statistics.cases import is_as_expected, named


@named("profiles")
def test_profiles(case: Mapping[str, Any]) -> None:
    inputs = case["inputs"]
    assert inputs["r_max"] == WIDEST
    assert is_as_expected(profiles(inputs["times"], inputs["tau"]), case["expected"])


def test_a_task_that_a_method_was_not_tried_on_counts_as_not_reached() -> None:
    found = profiles({"a": {"t1": 10.0}, "b": {"t1": 20.0, "t2": 5.0}}, [2.0])
    assert (found["a"].rho, found["a"].area) == ([0.5], 0.5)
    assert (found["b"].rho, found["b"].area) == ([1.0], (2 / 3 + 1) / 2)


def test_where_nobody_reaches_anything_there_is_no_profile() -> None:
    assert profiles({"a": {"t1": None}}, [1.0]) == {}
    assert profiles({}, [1.0]) == {}

"""A target is reached at the first evaluation from which the curve holds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normcore.spec.metric import Direction
from normcore.target import Aim, Point, Time

values = st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), max_size=12)


def time(values: list[float], target: float = 0.5, direction: Direction = "maximize", k: int = 2) -> Time:
    """Time to target for evaluations every 20 updates, at 2 seconds per update."""
    aim = Aim(target, direction, k)
    for c, value in enumerate(values, 1):
        aim.note(Point(20 * c, value, 40.0 * c))
    return aim.time


@given(values, st.integers(1, 3))
def test_time_counts_to_the_first_of_k_evaluations_that_hold_the_target(values: list[float], k: int) -> None:
    starts = [c for c in range(len(values) - k + 1) if all(value >= 0.5 for value in values[c : c + k])]
    below = [c for c, value in enumerate(values) if value < 0.5]
    got = time(values, k=k)
    assert got.reached == bool(starts)
    if not starts:
        last = below[-1] + 1 if below else 0
        assert (got.steps, got.seconds) == (20 * last, 40 * last)
        return
    c = starts[0]
    part = (0.5 - values[c - 1]) / (values[c] - values[c - 1]) if c else 1.0
    assert (got.steps, got.seconds) == pytest.approx((20 * (c + part), 40 * (c + part)))


@given(values)
def test_minimized_metric_gives_the_time_of_the_negated_metric(values: list[float]) -> None:
    assert time([-value for value in values], -0.5, "minimize") == time(values)


@given(values, st.lists(st.floats(-9, 9), max_size=5))
def test_evaluations_after_the_target_was_reached_change_nothing(values: list[float], later: list[float]) -> None:
    if (got := time(values)).reached:
        assert time([*values, *later]) == got


def test_an_evaluation_as_good_as_the_target_reaches_it() -> None:
    assert time([0.5, 0.5]) == Time(True, 20.0, 40.0)
    assert time([0.3, 0.5, 0.5]) == Time(True, 40.0, 80.0)
    assert time([]) == Time(False, 0.0, 0.0)

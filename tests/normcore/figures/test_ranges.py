"""Range of an axis."""

import pytest

from normcore.figures.ranges import Range, choose_clip_limits, choose_range


def test_all_values_of_finite_curves_are_shown() -> None:
    assert choose_range([1.0, 3.0, 100.0]) == (1.0, 100.0)
    assert choose_range([]) is None


@pytest.mark.parametrize(
    ("diverged", "seen"),
    [([2.0, 5.0], (1.0, 5.0)), ([-0.5, 4.0], (-0.5, 4.0)), ([2.0, 4.5, 1e9], (1.0, 4.5)), ([1e9], (1.0, 3.0))],
)
def test_diverged_values_are_shown_if_the_others_stay_readable(
    diverged: list[float], seen: tuple[float, float]
) -> None:
    assert choose_range([1.0, 3.0], diverged) == seen


def test_values_far_from_the_median_are_left_out_if_all_diverged() -> None:
    assert choose_range([], [2.0, 1.9, 1.8, 1.7, 1.6, 1e12]) == (1.6, 2.0)
    assert choose_range([], [2.0, 1e12]) == (2.0, 1e12), "too few to know what is far"


def test_axis_is_clipped_only_if_values_are_beyond_the_range() -> None:
    assert choose_clip_limits([1.0, 3.0], [2.0, 1e9]) == {"clipmax": pytest.approx(3.1)}
    assert choose_clip_limits([1.0, 3.0], [2.0, -1e9]) == {"clipmin": pytest.approx(0.9)}
    assert choose_clip_limits([1.0, 3.0], [2.0, 4.0]) == {}
    assert choose_clip_limits([1.0, 3.0], []) == {}


def test_value_beyond_the_range_is_put_at_the_edge() -> None:
    assert [Range(0, 1).clip_value(value) for value in (-3, 0.5, 7)] == [0, 0.5, 1]

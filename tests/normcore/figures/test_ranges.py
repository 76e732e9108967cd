"""Range of an axis."""

import pytest

from normcore.figures.ranges import Range, clipping, shown


def test_all_of_what_did_not_diverge_is_shown() -> None:
    assert shown([1.0, 3.0, 100.0]) == (1.0, 100.0)
    assert shown([]) is None


@pytest.mark.parametrize(
    ("diverged", "seen"),
    [([2.0, 5.0], (1.0, 5.0)), ([-0.5, 4.0], (-0.5, 4.0)), ([2.0, 4.5, 1e9], (1.0, 4.5)), ([1e9], (1.0, 3.0))],
)
def test_what_diverged_is_shown_as_far_as_the_rest_stays_readable(
    diverged: list[float], seen: tuple[float, float]
) -> None:
    assert shown([1.0, 3.0], diverged) == seen


def test_where_all_diverged_what_is_far_from_their_middle_is_left_out() -> None:
    assert shown([], [2.0, 1.9, 1.8, 1.7, 1.6, 1e12]) == (1.6, 2.0)
    assert shown([], [2.0, 1e12]) == (2.0, 1e12), "too few to know what is far"


def test_an_axis_is_clipped_only_where_something_is_beyond() -> None:
    assert clipping([1.0, 3.0], [2.0, 1e9]) == {"clipmax": pytest.approx(3.1)}
    assert clipping([1.0, 3.0], [2.0, -1e9]) == {"clipmin": pytest.approx(0.9)}
    assert clipping([1.0, 3.0], [2.0, 4.0]) == {}
    assert clipping([1.0, 3.0], []) == {}


def test_a_value_beyond_is_put_at_the_edge() -> None:
    assert [Range(0, 1).clipped(value) for value in (-3, 0.5, 7)] == [0, 0.5, 1]

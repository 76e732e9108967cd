"""Numbers on axes."""

from itertools import pairwise

import pytest

from service.pages.axes import Axis, Mark, linear, logarithmic


def test_numbers_stand_between_the_ends_and_round_ones_are_written() -> None:
    axis = linear([0.90, 0.95], [0.89, 0.96], "{:g}".format)
    assert axis.at(axis.low) == 0
    assert axis.at(axis.high) == 100
    assert axis.at((axis.low + axis.high) / 2) == 50
    assert [tick.text for tick in axis.ticks] == ["0.9", "0.92", "0.94", "0.96"]
    assert axis.at(0.92) == axis.ticks[1].at


def test_outliers_do_not_stretch_the_axis_and_have_an_arrow_at_its_edge() -> None:
    axis = linear([0.90, 0.91, 0.92, 0.93, 0.35], [], "{:g}".format)
    assert axis.low > 0.85
    assert axis.mark(0.35, None).beyond == "low"
    assert axis.mark(0.35, None).at == 0
    assert axis.mark(0.92, (0.91, 0.93), [0.35, 0.92]).dots == [axis.at(0.92)]
    assert axis.mark(0.92, (0.91, 0.93)).beyond is None


@pytest.mark.parametrize("values", [[0.5], [0.5, 0.5], [0.0], [-3.0], [1e9], [1e-9]])
def test_an_axis_of_a_single_value_has_a_range(values: list[float]) -> None:
    axis = linear(values, [], "{:g}".format)
    assert axis.low < values[0] < axis.high
    assert axis.ticks


def test_zero_is_shown_where_it_must_be() -> None:
    axis = linear([3.0, 3.1], [], "{:g}".format, must=0.0)
    assert axis.low < 0
    assert "0" in [tick.text for tick in axis.ticks]


def test_ratios_are_spread_by_powers_of_two() -> None:
    axis = logarithmic([0.5, 4.0], "×{:g}".format)
    assert [tick.text for tick in axis.ticks] == ["×0.5", "×1", "×2", "×4"]
    places = [tick.at for tick in axis.ticks]
    gaps = [after - before for before, after in pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=0.02)
    wide = logarithmic([1 / 64, 64.0], "{:g}".format)
    assert [tick.text for tick in wide.ticks] == ["0.015625", "0.125", "1", "8", "64"]
    assert [tick.text for tick in logarithmic([], "{:g}".format).ticks] == ["1"]


def test_a_mark_has_its_place_its_interval_and_the_seeds_on_the_axis() -> None:
    axis = Axis(0.0, 10.0)
    assert axis.mark(4.0, (2.0, 7.0), (3.0, 5.0, 12.0)) == Mark(40, (20, 70), [30, 50], None)
    assert axis.mark(11.0, None) == Mark(100, None, [], "high")

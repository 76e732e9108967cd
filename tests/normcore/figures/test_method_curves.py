"""Figure of the learning curves of several methods."""

from functools import partial

import pytest

from normcore.figures.method_curves import MARKERS, MethodLine, method_curves
from normcore.figures.styles import style_of
from tests.normcore.figures.structure import check

drawn = partial(method_curves, title="A figure", x="steps", y="accuracy")
STEPS = [0.0, 10.0, 20.0, 30.0]


def line(method: str, name: str | None = None, rise: float = 0.2) -> MethodLine:
    mean = [0.1 + rise * k for k in range(4)]
    low = [value - 0.01 for value in mean]
    return MethodLine(
        name or method, method, STEPS, mean, [None, *low[1:]], [None, *(value + 0.01 for value in mean[1:])]
    )


def test_each_method_has_its_own_colour_symbol_and_line_and_the_baseline_is_dashed() -> None:
    figure = drawn([line("layer_norm"), line("none")], "dark", target=0.5)
    check(figure)
    norm, none = (trace for trace in figure["data"] if trace.get("showlegend", True))
    assert (norm["line"]["color"], norm["line"]["dash"]) == ("#7d9ffe", "solid")
    assert (none["line"]["color"], none["line"]["dash"], none["marker"]["maxdisplayed"]) == ("#a7b0ba", "dash", MARKERS)
    assert norm["y"] == [0.1, 0.30000000000000004, 0.5, 0.7000000000000001]


def test_band_is_drawn_where_the_interval_is_known() -> None:
    figure = drawn([line("layer_norm")], "light", target=None)
    band = figure["data"][0]
    assert band["x"] == [10, 20, 30, 30, 20, 10]
    assert band["fillcolor"] == style_of("layer_norm").light
    assert band["opacity"] == 0.16
    assert "shapes" not in figure["layout"]


def test_second_line_of_a_method_is_dotted_with_a_hollow_symbol() -> None:
    twice = [line("layer_norm"), line("layer_norm", "layer_norm hidden_size 32")]
    figure = drawn(twice, "light", target=None)
    first, second = (trace for trace in figure["data"] if trace.get("showlegend", True))
    assert first["line"]["color"] == second["line"]["color"]
    assert (second["line"]["dash"], second["marker"]["symbol"]) == ("dot", "circle-open")


def test_target_is_dotted_and_within_the_range() -> None:
    figure = drawn([line("layer_norm")], "light", target=0.9, percent=True)
    assert figure["layout"]["shapes"][0]["y0"] == 0.9
    assert figure["layout"]["annotations"][0]["text"] == "target 90%"
    assert figure["layout"]["yaxis"]["range"][1] > 0.9


def test_first_steps_of_falling_curves_are_outside_the_range() -> None:
    x = [float(k) for k in range(20)]
    falling = MethodLine("none", "none", x, [20 - k for k in x], [None] * 20, [None] * 20)
    low, high = drawn([falling], "light", target=None)["layout"]["yaxis"]["range"]
    assert low < 1
    assert 17 < high < 20


def test_without_lines_there_is_an_empty_figure() -> None:
    figure = drawn([], "light", target=None)
    assert figure["data"] == []


def test_bands_are_seen_in_full_where_their_line_is() -> None:
    wide = MethodLine("none", "none", STEPS, [0.9, 0.92, 0.94, 0.95], [None, 0.7, 0.9, 0.93], [None, 1.1, 0.99, 0.97])
    low, high = drawn([wide], "light", target=None)["layout"]["yaxis"]["range"]
    assert low < 0.7
    assert high > 1.1


def diverged(mean: list[float]) -> MethodLine:
    none: list[float | None] = [None] * len(mean)
    return MethodLine("rms_norm", "rms_norm", STEPS[: len(mean)], mean, none, none, seeds=5, diverged=3)


def test_a_line_that_diverged_is_seen_and_marked_where_it_ends() -> None:
    steady = MethodLine("none", "none", STEPS, [2.0, 1.5, 1.2, 1.0], [None] * 4, [None] * 4)
    figure = drawn([steady, diverged([2.4, 2.6])], "light", target=None)
    low, high = figure["layout"]["yaxis"]["range"]
    assert low < 1.0
    assert high > 2.6
    mark = figure["data"][-1]
    assert (mark["x"], mark["y"], mark["text"]) == ([10.0], [2.6], ["3 of 5 diverged"])
    assert (mark["textposition"], mark["showlegend"]) == ("middle right", False)
    assert mark["marker"]["color"] == style_of("rms_norm").light


def test_line_with_huge_values_does_not_flatten_the_others() -> None:
    steady = MethodLine("none", "none", STEPS, [2.0, 1.5, 1.2, 1.0], [None] * 4, [None] * 4)
    figure = drawn([steady, diverged([2.4, 2.6, 1e6])], "light", target=None)
    assert figure["layout"]["yaxis"]["range"][1] == pytest.approx(2.6, abs=0.1)
    assert figure["data"][-1]["y"] == [2.6], "at the edge"
    assert figure["data"][-1]["textposition"] == "middle left"


def test_a_line_that_did_not_diverge_has_no_mark() -> None:
    assert [trace.get("text") for trace in drawn([line("none")], "light", target=None)["data"]] == [None, None]

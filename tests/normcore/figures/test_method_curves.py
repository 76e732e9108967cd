"""Learning curves of methods."""

from functools import partial

from normcore.figures.method_curves import MARKERS, Line, method_curves
from normcore.figures.styles import style_of
from tests.normcore.figures.structure import check

drawn = partial(method_curves, title="A figure", x="steps", y="accuracy")
STEPS = [0.0, 10.0, 20.0, 30.0]


def line(method: str, name: str | None = None, rise: float = 0.2) -> Line:
    mean = [0.1 + rise * k for k in range(4)]
    low = [value - 0.01 for value in mean]
    return Line(name or method, method, STEPS, mean, [None, *low[1:]], [None, *(value + 0.01 for value in mean[1:])])


def test_each_method_has_its_own_colour_symbol_and_line_and_the_baseline_is_dashed() -> None:
    figure = drawn([line("layer_norm"), line("none")], "dark", target=0.5)
    check(figure)
    norm, none = (trace for trace in figure["data"] if trace.get("showlegend", True))
    assert (norm["line"]["color"], norm["line"]["dash"]) == ("#7d9ffe", "solid")
    assert (none["line"]["color"], none["line"]["dash"], none["marker"]["maxdisplayed"]) == ("#a7b0ba", "dash", MARKERS)
    assert norm["y"] == [0.1, 0.30000000000000004, 0.5, 0.7000000000000001]


def test_a_band_stands_where_the_interval_is_known() -> None:
    figure = drawn([line("layer_norm")], "light", target=None)
    band = figure["data"][0]
    assert band["x"] == [10, 20, 30, 30, 20, 10]
    assert band["fillcolor"] == style_of("layer_norm").light
    assert band["opacity"] == 0.16
    assert "shapes" not in figure["layout"]


def test_a_second_line_of_a_method_is_told_apart_by_dots_and_a_hollow_symbol() -> None:
    twice = [line("layer_norm"), line("layer_norm", "layer_norm hidden_size 32")]
    figure = drawn(twice, "light", target=None)
    first, second = (trace for trace in figure["data"] if trace.get("showlegend", True))
    assert first["line"]["color"] == second["line"]["color"]
    assert (second["line"]["dash"], second["marker"]["symbol"]) == ("dot", "circle-open")


def test_the_target_is_dotted_and_within_what_is_seen() -> None:
    figure = drawn([line("layer_norm")], "light", target=0.9, percent=True)
    assert figure["layout"]["shapes"][0]["y0"] == 0.9
    assert figure["layout"]["annotations"][0]["text"] == "target 90%"
    assert figure["layout"]["yaxis"]["range"][1] > 0.9


def test_of_falling_curves_the_first_steps_are_left_out_above() -> None:
    x = [float(k) for k in range(20)]
    falling = Line("none", "none", x, [20 - k for k in x], [None] * 20, [None] * 20)
    low, high = drawn([falling], "light", target=None)["layout"]["yaxis"]["range"]
    assert low < 1
    assert 17 < high < 20


def test_without_lines_there_is_an_empty_figure() -> None:
    figure = drawn([], "light", target=None)
    assert figure["data"] == []

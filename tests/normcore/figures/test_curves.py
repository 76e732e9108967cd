"""Learning curves of a run: one panel per quantity, one colour per split."""

from itertools import pairwise

import pytest

from normcore.figures.curves import curves
from normcore.figures.figure import PALETTE
from tests.normcore.figures.structure import check

SERIES = {
    "train.loss": [(10.0, 2.0), (20.0, 1.5)],
    "valid.loss": [(10.0, 2.1), (20.0, 1.7)],
    "valid.accuracy": [(10.0, 0.4), (20.0, 0.6)],
    "train.grad_norm": [(10.0, 1.0), (20.0, 0.5)],
}


def test_points_are_those_of_the_series() -> None:
    figure = curves(SERIES, "A run")
    check(figure)
    assert {trace["name"]: list(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]} == SERIES
    assert figure["layout"]["title"]["text"] == "A run"
    assert figure["layout"]["xaxis"]["title"]["text"] == "step"


def test_each_quantity_has_a_panel_and_each_split_a_colour() -> None:
    figure = curves(SERIES, "A run", x="length", units={"loss": "nats"})
    traces = {trace["name"]: trace for trace in figure["data"]}
    assert traces["train.loss"]["yaxis"] == traces["valid.loss"]["yaxis"] == "y"
    assert (traces["valid.accuracy"]["yaxis"], traces["train.grad_norm"]["yaxis"]) == ("y2", "y3")
    titles = {name: figure["layout"][name]["title"]["text"] for name in ("xaxis", "yaxis", "yaxis2", "yaxis3")}
    assert titles == {"xaxis": "length", "yaxis": "loss (nats)", "yaxis2": "accuracy", "yaxis3": "grad_norm"}
    colours = {name: trace["line"]["color"] for name, trace in traces.items()}
    assert colours["train.loss"] == colours["train.grad_norm"] == PALETTE[0]
    assert colours["valid.loss"] == colours["valid.accuracy"] == PALETTE[1]


@pytest.mark.parametrize("panels", [1, 2, 3, 7])
def test_panels_lie_below_one_another_without_touching(panels: int) -> None:
    figure = curves({f"valid.q{k}": [(0.0, float(k))] for k in range(panels)}, "Many")
    check(figure)
    layout = figure["layout"]
    domains = [layout[f"yaxis{'' if k == 0 else k + 1}"]["domain"] for k in range(panels)]
    assert domains[0][1] == 1
    assert all(above[0] > below[1] for above, below in pairwise(domains))
    assert layout["xaxis"]["anchor"] == ("y" if panels == 1 else f"y{panels}"), "steps stand at the bottom"


def test_no_series_give_an_empty_figure() -> None:
    check(curves({}, "Nothing yet"))
    check(curves({"valid.loss": []}, "Nothing yet"))


def test_many_points_are_drawn_without_markers() -> None:
    few, many = ([(float(x), 0.0) for x in range(n)] for n in (49, 50))
    modes = [trace["mode"] for trace in curves({"a.x": few, "b.x": many}, "Points")["data"]]
    assert modes == ["lines+markers", "lines"]


def test_series_without_a_split_has_its_own_panel() -> None:
    figure = curves({"gradient": [(0.0, 1.0)]}, "An analysis")
    check(figure)
    assert figure["layout"]["yaxis"]["title"]["text"] == "gradient"


def test_colours_repeat_for_more_splits_than_colours() -> None:
    figure = curves({f"split{k}.loss": [(0.0, 1.0)] for k in range(len(PALETTE) + 1)}, "Many")
    colours = [trace["line"]["color"] for trace in figure["data"]]
    assert colours == [*PALETTE, PALETTE[0]]


def test_number_in_the_name_of_a_series_is_not_a_split() -> None:
    series = {f"gradient_norm gain={gain}": [(0.0, 1.0), (1.0, 0.5)] for gain in (0.1, 0.5)}
    drawn = curves(series, "Gradients")
    assert [drawn["layout"][axis]["title"]["text"] for axis in ("yaxis", "yaxis2")] == list(series)
    assert [trace["yaxis"] for trace in drawn["data"]] == ["y", "y2"]


def test_divergence_is_marked_and_far_values_are_clipped() -> None:
    series = {"train.loss": [(k, 2.0 - 0.1 * k) for k in range(6)] + [(6, 1e12)], "valid.accuracy": [(5, 0.5)]}
    layout = curves(series, "a run", diverged=True)["layout"]
    assert layout["yaxis"]["autorangeoptions"]["clipmax"] == pytest.approx(2.025)
    assert layout["yaxis2"]["autorangeoptions"] == {}
    assert (layout["shapes"][0]["x0"], layout["annotations"][0]["text"]) == (6, "diverged")
    usual = curves(series, "a run")["layout"]
    assert "shapes" not in usual
    assert "autorangeoptions" not in usual["yaxis"]

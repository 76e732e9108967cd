"""Figure of the value of a search by the number of settings tried."""

from normcore.figures.budget import Budget, budgets
from tests.normcore.figures.structure import check


def test_each_method_has_a_line_and_a_band_and_each_flip_has_a_mark() -> None:
    layer_norm = Budget("layer_norm", [(1, 0.7, 0.6, 0.8), (2, 0.75, 0.7, 0.8)])
    none = Budget("none", [(1, 0.5, 0.1, 0.9), (2, 0.8, 0.7, 0.9), (3, 0.9, 0.9, 0.9)])
    figure = budgets([layer_norm, none], [2], "light", title="a sweep", y="test accuracy", percent=True)
    check(figure)
    lines = {trace["name"]: trace for trace in figure["data"] if trace.get("name")}
    assert (lines["none"]["x"], lines["none"]["y"]) == ([1, 2, 3], [0.5, 0.8, 0.9])
    assert lines["none"]["line"]["dash"] == "dash"
    band = figure["data"][0]
    assert (band["x"], band["y"]) == ([1, 2, 2, 1], [0.8, 0.8, 0.7, 0.6])
    layout = figure["layout"]
    assert [(shape["x0"], shape["x1"]) for shape in layout["shapes"]] == [(2, 2)]
    assert layout["annotations"][0]["text"] == "flip at 2"
    assert (layout["xaxis"]["range"], layout["xaxis"]["dtick"]) == ([0.7, 3.3], 1)
    assert "range" not in layout["yaxis"]
    assert layout["yaxis"]["tickformat"] == ".0%"


def test_many_settings_do_not_crowd_the_axis() -> None:
    many = Budget("none", [(k, 0.5, 0.5, 0.5) for k in range(1, 201)])
    figure = budgets([many], [], "dark", title="a sweep", y="value")
    check(figure)
    assert "dtick" not in figure["layout"]["xaxis"]
    assert figure["layout"]["shapes"] == []

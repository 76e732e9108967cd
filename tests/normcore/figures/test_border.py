"""Figure with a bar for every distance from the border."""

from normcore.figures.border import border_figure
from tests.normcore.figures.structure import check


def test_every_ring_has_a_bar() -> None:
    figure = border_figure([0.5, 1.5, 2.0], "Some task")
    check(figure)
    [bars] = figure["data"]
    assert (bars["type"], bars["x"], bars["y"]) == ("bar", [0, 1, 2], [0.5, 1.5, 2.0])
    assert figure["layout"]["title"]["text"] == "Some task: validation images"
    assert figure["layout"]["xaxis"]["title"]["text"] == "places from the border"
    check(border_figure([], "Nothing"))

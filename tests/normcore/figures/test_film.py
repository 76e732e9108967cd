"""A film shows its frames in turn; it opens with the last frame."""

from normcore.figures.film import film
from tests.normcore.figures.structure import check

FRAMES = [[[0.0, 1.0, 0.0], [0.25, 0.5, 1 / 3]], [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]]


def test_every_frame_has_its_place_on_the_slider() -> None:
    figure = film(FRAMES, "Painting", "glimpse")
    check(figure)
    assert [frame["data"][0]["z"] for frame in figure["frames"]] == [
        [[0.0, 1.0, 0.0], [0.25, 0.5, 0.333]],
        [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]],
    ]
    [slider] = figure["layout"]["sliders"]
    shown = [step["args"][0] for step in slider["steps"]]
    assert shown == [[frame["name"]] for frame in figure["frames"]]
    assert slider["currentvalue"]["prefix"] == "glimpse "
    assert slider["active"] == 1
    assert figure["data"] == figure["frames"][-1]["data"]


def test_value_1_is_white_and_the_first_row_is_on_top() -> None:
    figure = film(FRAMES, "Painting", "glimpse")
    [heatmap] = figure["data"]
    assert (heatmap["zmin"], heatmap["zmax"], heatmap["colorscale"], heatmap["reversescale"]) == (0, 1, "Greys", True)
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"

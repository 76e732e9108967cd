"""A confusion matrix shows shares of each class and the counts that they come from."""

from normcore.figures.confusion import confusion_matrix
from tests.normcore.figures.structure import check


def test_rows_are_shares_of_a_class() -> None:
    figure = confusion_matrix([[3, 1], [0, 5]], ["cat", "dog"], "Pets")
    check(figure)
    [heatmap] = figure["data"]
    assert heatmap["z"] == [[0.75, 0.25], [0.0, 1.0]]
    assert heatmap["text"] == [["3", "1"], ["0", "5"]]
    assert (heatmap["x"], heatmap["y"]) == (["cat", "dog"], ["cat", "dog"])
    assert (heatmap["zmin"], heatmap["zmax"]) == (0, 1)


def test_a_class_without_examples_is_a_row_of_zeros() -> None:
    figure = confusion_matrix([[0, 0], [2, 2]], ["0", "1"], "Half")
    check(figure)
    assert figure["data"][0]["z"] == [[0.0, 0.0], [0.5, 0.5]]


def test_axes_have_titles_and_labels_are_categories() -> None:
    layout = confusion_matrix([[1]], ["0"], "One")["layout"]
    assert layout["xaxis"]["title"]["text"] == "taken for"
    assert layout["yaxis"]["title"]["text"] == "is"
    assert layout["xaxis"]["type"] == layout["yaxis"]["type"] == "category"
    assert layout["yaxis"]["autorange"] == "reversed", "the first class on top"

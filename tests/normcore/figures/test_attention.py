"""Figure of attention: each attended item is a row, each step is a column."""

from normcore.figures.attention import attention
from tests.normcore.figures.structure import check


def test_every_row_has_its_name() -> None:
    figure = attention([[0.0, 0.5, 1.0], [1 / 3, 0.0, 0.0]], ["a", "a"], "Seen", "point", "character")
    check(figure)
    [heatmap] = figure["data"]
    assert heatmap["z"] == [[0.0, 0.5, 1.0], [0.3333, 0.0, 0.0]]
    assert figure["layout"]["yaxis"]["ticktext"] == ["a", "a"]
    assert figure["layout"]["yaxis"]["autorange"] == "reversed"
    assert figure["layout"]["xaxis"]["title"]["text"] == "point"
    assert figure["layout"]["xaxis"]["showticklabels"]


def test_title_of_several_lines_has_enough_room() -> None:
    one, three = (attention([[1.0]], ["a"], title, "point", "text") for title in ("Seen", "Seen<br>and<br>read"))
    assert one["layout"]["margin"]["t"] == 50
    assert three["layout"]["margin"]["t"] == 90


def test_larger_values_are_darker_and_names_have_enough_room() -> None:
    """The blue colour scale of Plotly starts with the dark end."""
    figure = attention([[0.1]] * 50, ["a"] * 50, "Seen", "question", "text")
    [heatmap] = figure["data"]
    assert (heatmap["colorscale"], heatmap["reversescale"]) == ("Blues", True)
    assert figure["layout"]["height"] == 50 * 16 + 200
    assert not figure["layout"]["xaxis"]["showticklabels"], "one question has no number"

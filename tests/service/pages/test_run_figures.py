"""Figures of a run in its page: which kind each is, and that broken ones are only linked."""

import json
from typing import Any

import pytest

from normcore.figures.attention import attention
from normcore.figures.confusion import confusion_matrix
from normcore.figures.film import film
from service.experiments.contents import StoredFigure
from service.pages.run_figures import HeatPicture, Matrix, PlotWithTable, RunFigure, show_figure

BARS = {"data": [{"type": "bar", "name": "a", "x": [0, 1], "y": [1.5, None]}], "layout": {"xaxis": {}, "yaxis": {}}}


def shown(content: Any) -> RunFigure:
    return show_figure(StoredFigure("a_figure", json.loads(json.dumps(content))))


def test_a_confusion_matrix_is_a_table_with_tints_by_share() -> None:
    found = shown(confusion_matrix([[3, 1], [0, 8]], ["cat", "dog"], "Test"))
    assert isinstance(found, Matrix)
    assert found.rows == [("cat", [("3", 3), ("1", 1)]), ("dog", [("0", 0), ("8", 4)])]


def test_a_heat_map_joins_fields_of_a_level_and_names_the_largest() -> None:
    found = shown(attention([[1.0, 1.0, 0.0], [0.0, 0.5, 0.0]], ["a", "b"], "T<br>U", "question", "text"))
    assert isinstance(found, HeatPicture)
    assert found.paths == [(0.5, "M1 1h1v1h-1z"), (1.0, "M0 0h2v1h-2z")]
    assert found.strongest == [("1", "a 1"), ("2", "a 1, b 0.5"), ("3", "")]
    assert (found.titles.title, found.note) == ("T U", "")


def test_a_large_heat_map_is_bounded_and_says_so() -> None:
    found = shown(attention([[float(k == 99)] * 500 for k in range(200)], [f"w{k}" for k in range(200)], "T", "x", "y"))
    assert isinstance(found, HeatPicture)
    assert (len(found.labels), found.width, len(found.strongest)) == (48, 84, 20)
    assert "w99" in found.labels
    assert found.note == ("Shown: the 48 of 200 rows with the largest sums and the largest value of each 6 columns.")


def test_bars_are_drawn_and_have_a_table() -> None:
    found = shown(BARS)
    assert isinstance(found, PlotWithTable)
    assert (found.columns, found.rows) == (["a"], [("0", ["1.5"]), ("1", ["–"])])


def test_films_and_figures_too_large_to_read_are_left_to_the_script() -> None:
    assert shown(film([[[0.0, 1.0]]], "T", "step")).kind == "film"
    assert show_figure(StoredFigure("big", None, is_large=True)).kind == "film"


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {"data": [], "layout": 3},
        {"data": [{"type": "mesh3d"}], "layout": {"xaxis": {}, "yaxis": {}}},
        {**BARS, "data": [{"type": "bar", "x": [1], "y": [1, 2]}]},
        {**BARS, "data": [{"type": "heatmap", "x": [1], "y": [1, 2], "z": [[1]]}]},
        {**BARS, "data": [{"type": "heatmap", "x": [1, 2], "y": [1], "z": [[float("nan"), 1]]}]},
    ],
)
def test_figures_that_are_broken_or_of_an_unknown_kind_are_linked(broken: Any) -> None:
    assert shown(broken).kind == "link"

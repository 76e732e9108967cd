"""Figures are plain JSON, and a theme changes only their colours."""

import copy
import json
import re
from typing import Any

import pytest

from normcore.figures import Figure, apply_theme, as_json
from normcore.figures.border import border_figure
from normcore.figures.confusion import confusion_matrix
from normcore.figures.curves import curves
from normcore.figures.figure import PALETTE, THEMES, Theme
from tests.normcore.figures.structure import axes, check, contrast

FIGURES: dict[str, Figure] = {
    "curves": curves({"train.loss": [(1.0, 2.0)], "valid.accuracy": [(1.0, 0.5)]}, "A run"),
    "confusion": confusion_matrix([[3, 1], [0, 5]], ["cat", "dog"], "Pets"),
    "border": border_figure([0.5, 1.5], "Border"),
}
COLOURS = {"gridcolor", "zerolinecolor", "paper_bgcolor", "plot_bgcolor", "font"}


def without_colours(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_colours(inner) for key, inner in value.items() if key not in COLOURS}
    return value


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_theme_changes_only_colours(figure: Figure, theme: Theme) -> None:
    before = copy.deepcopy(figure)
    shown = apply_theme(figure, theme)
    check(shown)
    assert figure == before, "it is a figure of its own"
    assert without_colours(shown) == without_colours(figure)
    assert shown["data"] == figure["data"]
    layout, colours = shown["layout"], THEMES[theme]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == colours["ground"]
    assert layout["font"]["color"] == colours["text"]
    assert axes(shown)
    for axis in axes(shown):
        assert layout[axis]["gridcolor"] == colours["grid"]


def test_a_line_across_a_figure_has_the_colour_of_the_text_unless_it_has_its_own() -> None:
    dash = {"type": "line", "line": {"dash": "dash"}}
    figure: Figure = {"data": [], "layout": {"shapes": [dash, {"type": "line", "line": {"color": "#123456"}}]}}
    assert [shape["line"] for shape in apply_theme(figure, "dark")["layout"]["shapes"]] == [
        {"dash": "dash", "color": "#e9edf1"},
        {"color": "#123456"},
    ]


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_new_figure_has_no_theme(figure: Figure) -> None:
    assert not COLOURS & figure["layout"].keys()
    assert apply_theme(apply_theme(figure, "dark"), "light") == apply_theme(figure, "light")


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_json_of_a_figure_is_the_figure(figure: Figure) -> None:
    assert json.loads(as_json(figure)) == json.loads(json.dumps(figure))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_nan_and_infinity_are_refused(number: float) -> None:
    """Browsers cannot read NaN as JSON."""
    with pytest.raises(ValueError, match="JSON"):
        as_json(border_figure([1.0, number], "Broken"))


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_lines_have_enough_contrast(theme: Theme) -> None:
    colours = THEMES[theme]
    assert contrast(colours["text"], colours["ground"]) > 7
    for line in PALETTE:
        assert re.fullmatch("#[0-9a-f]{6}", line)
        assert contrast(line, colours["ground"]) > 2
    assert len(set(PALETTE)) == len(PALETTE)

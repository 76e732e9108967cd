"""Colours, lines and symbols of methods in figures."""

from itertools import combinations

import pytest

from normcore.figures.styles import PALETTE, PLOTLY_SYMBOLS, style_of, styles_of
from normcore.spec.methods import METHODS
from tests.normcore.figures.structure import contrast

GROUNDS = {"light": ("#ffffff", "#f6f7f9", "#edf0f3"), "dark": ("#171b21", "#0f1216", "#1f252c")}


@pytest.mark.parametrize("method", PALETTE)
def test_mark_has_contrast_on_every_background(method: str) -> None:
    style = PALETTE[method]
    assert min(contrast(style.light, ground) for ground in GROUNDS["light"]) >= 3
    assert min(contrast(style.dark, ground) for ground in GROUNDS["dark"]) >= 3


def test_methods_of_the_palette_have_distinct_colours_and_symbols_except_the_circle() -> None:
    for (one, a), (other, b) in combinations(PALETTE.items(), 2):
        assert (a.light, a.slot) != (b.light, b.slot)
        assert a.shape != b.shape or {one, other} == {"none", "layer_norm"}, "which the dashes tell apart"
    assert {style.shape for style in PALETTE.values()} == set(PLOTLY_SYMBOLS)


def test_our_further_methods_repeat_the_palette_hollow_and_dotted() -> None:
    further = [name for name in METHODS.ours if name not in PALETTE]
    styles = [style_of(name) for name in further]
    assert [style.slot for style in styles] == list(range(1, 1 + len(further)))
    assert all(style.hollow and style.dash == "dot" for style in styles)
    assert style_of(further[0]).plotly_symbol == "circle-open"


def test_colour_of_a_plug_in_does_not_depend_on_other_methods() -> None:
    assert style_of("mean_absolute_norm") == style_of("mean_absolute_norm")
    assert len({style_of(f"plug_in_{k}").slot for k in range(100)}) == len(PALETTE) - 1
    assert style_of("mean_absolute_norm").hollow


def test_the_baseline_is_grey_and_dashed() -> None:
    none = style_of("none")
    assert (none.dash, none.hollow, none.colour("light"), none.colour("dark")) == ("dash", False, "#5a636e", "#a7b0ba")


def test_a_second_line_of_a_method_is_dotted_and_hollow() -> None:
    first, other, second = styles_of(["layer_norm", "none", "layer_norm"])
    assert (first, other) == (style_of("layer_norm"), style_of("none"))
    assert (second.light, second.dash, second.hollow) == (first.light, "dot", True)

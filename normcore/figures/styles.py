"""Styles of methods, the same in all figures: colour, symbol and line.

Not everybody can tell colours apart, so each method has a symbol, too. On the backgrounds of both themes colours have a
contrast of at least 3:1. Two colours of the palette differ by a dE2000 of at least 11, also for colour-blind people.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from normcore.figures.figure import Theme
from normcore.spec.methods import METHODS

Shape = Literal["circle", "diamond", "square", "triangle", "plus", "triangle-down", "x", "star"]
Dash = Literal["solid", "dash", "dot"]


@dataclass(frozen=True, slots=True)
class Style:
    """Style of a method: colour, symbol and line.

    Attributes:
        slot: place of the colour in the palette.
        light, dark: the colour on a light page and on a dark page.
        hollow: whether the symbol is only an outline, as for a method that shares its colour with another method.
    """

    slot: int
    light: str
    dark: str
    shape: Shape
    dash: Dash = "solid"
    hollow: bool = False

    def colour(self, theme: Theme) -> str:
        return self.light if theme == "light" else self.dark

    @property
    def plotly_symbol(self) -> str:
        return PLOTLY_SYMBOLS[self.shape] + ("-open" if self.hollow else "")


PALETTE: dict[str, Style] = {
    "none": Style(0, "#5a636e", "#a7b0ba", "circle", "dash"),
    "layer_norm": Style(1, "#3a5ee6", "#7d9ffe", "circle"),
    "recurrent_batch_norm": Style(2, "#b8421e", "#e7421a", "diamond"),
    "rms_norm": Style(3, "#19805b", "#a0dcac", "square"),
    "sequence_batch_norm": Style(4, "#49297a", "#984fcd", "triangle"),
    "batch_norm": Style(5, "#b77f05", "#f8db42", "plus"),
    "weight_norm": Style(6, "#0393c7", "#74effd", "triangle-down"),
    "dynamic_tanh": Style(7, "#e04197", "#d76792", "x"),
    "batch_renorm": Style(8, "#4e100f", "#a65951", "star"),
}
"""Styles by method. Further methods share these colours in this order, except the colour of the baseline ``none``."""

PLOTLY_SYMBOLS: dict[Shape, str] = {
    "circle": "circle",
    "diamond": "diamond",
    "square": "square",
    "triangle": "triangle-up",
    "plus": "cross",
    "triangle-down": "triangle-down",
    "x": "x",
    "star": "star",
}


@cache
def style_of(method: str) -> Style:
    """Find the style of a method. A method that is not in the palette shares a colour of it, hollow and dotted.

    Methods of other packages choose the colour by a hash of their name: other installed packages do not change it.
    """
    if method in PALETTE:
        return PALETTE[method]
    shared = [style for name, style in PALETTE.items() if name != "none"]
    further = [name for name in METHODS.ours if name not in PALETTE]
    if method in further:
        known = shared[further.index(method) % len(shared)]
    else:
        known = shared[hashlib.blake2b(method.encode(), digest_size=4).digest()[0] % len(shared)]
    return Style(known.slot, known.light, known.dark, known.shape, "dot", hollow=True)


def styles_of(methods: Sequence[str]) -> list[Style]:
    """Styles of the lines of one figure. Further lines of the same method are dotted and hollow."""
    styles = map(style_of, methods)
    return [
        replace(style, dash="dot", hollow=True) if method in methods[:k] else style
        for k, (method, style) in enumerate(zip(methods, styles, strict=True))
    ]

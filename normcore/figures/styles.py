"""Look of a method, the same everywhere: colour, symbol and line.

Colours alone tell nothing apart: each method has a symbol, too. On both themes' grounds they have a contrast of at
least 3:1, and any two of the palette differ by a dE2000 of at least 11, also for colour-blind people.
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
    """Look of a method.

    Attributes:
        slot: the place of its colour in the palette.
        hollow: whether the symbol is an outline, as of methods that share a colour with another.
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
"""In the order in which further methods take the colours again; the baseline keeps its own."""

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
    """The style of a method: its own, or for further methods one of the palette's, hollow and dotted. Those of other
    packages take it by their name's hash, so that it does not depend on what else is installed."""
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
    """The styles of lines in one figure: a second one of a method is dotted and hollow, to be told from the first."""
    styles = map(style_of, methods)
    return [
        replace(style, dash="dot", hollow=True) if method in methods[:k] else style
        for k, (method, style) in enumerate(zip(methods, styles, strict=True))
    ]

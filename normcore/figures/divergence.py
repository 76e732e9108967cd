"""Mark of a divergence in a figure: a thin cross and a word."""

from typing import Any


def mark(x: float, y: float, text: str, colour: str, *, to_the_right: bool, **meta: Any) -> dict[str, Any]:
    """A cross at a line's last finite value.

    Args:
        text: beside it.
        to_the_right: on which side there is room for the text.
        meta: what a page that draws it must know.
    """
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": text,
        "x": [x],
        "y": [y],
        "text": [text],
        "textposition": "middle right" if to_the_right else "middle left",
        "marker": {
            "symbol": "x-thin",
            "size": 12,
            "color": colour,
            "line": {"color": colour, "width": 3},
        },
        "cliponaxis": False,
        "showlegend": False,
        "hoverinfo": "text",
        "meta": meta,
    }

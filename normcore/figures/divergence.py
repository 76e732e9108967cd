"""Mark of a divergence in a figure: a thin cross and a word."""

from typing import Any


def mark(x: float, y: float, text: str, colour: str, *, to_the_right: bool, **meta: Any) -> dict[str, Any]:
    """Make a trace with a cross at a line's last finite value.

    Args:
        text: word beside the cross.
        to_the_right: whether the text stands on the right of the cross, else on its left.
        meta: further facts for the page's script.
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

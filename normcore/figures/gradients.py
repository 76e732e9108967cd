"""Figure of the norm of the loss's gradient at each time step, a line for each gain of a method."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures.figure import Figure, Theme, apply_theme, figure
from normcore.figures.styles import style_of

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
MARKERS = 6  # symbols on a line, at most


@dataclass(frozen=True, slots=True)
class Flow:
    """Gradient flow: norms of the loss's gradient, step by step.

    Attributes:
        name: text in the legend.
        points: (time step, gradient norm).
    """

    name: str
    points: Sequence[tuple[float, float]]


def gradients(flows: Sequence[Flow], method: str, theme: Theme, *, title: str = "") -> Figure:
    """Draw a line for each of ``flows``, each with another symbol, over a logarithmic axis. Norms of 0 are left out.

    Axis numbers are written as 1e-5: Plotly would write powers with inline styles, which the pages' content security
    policy forbids.
    """
    colour = style_of(method).colour(theme)
    traces = [_trace(flow, SYMBOLS[k % len(SYMBOLS)], colour) for k, flow in enumerate(flows)]
    x, y = "time step", "gradient norm"
    return apply_theme(
        figure(
            traces,
            title,
            x,
            y,
            yaxis={"title": {"text": y}, "type": "log", "exponentformat": "e", "zeroline": False},
            xaxis={"title": {"text": x}, "zeroline": False},
            margin={"l": 72, "r": 16, "t": 32 if title else 8, "b": 48},
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        ),
        theme,
    )


def _trace(flow: Flow, symbol: str, colour: str) -> dict[str, Any]:
    seen = [(x, y) for x, y in flow.points if y > 0]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": flow.name,
        "x": [x for x, _ in seen],
        "y": [y for _, y in seen],
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "symbol": symbol, "size": 9, "maxdisplayed": MARKERS},
    }

"""Figure of the share of each method's seeds that have reached the target, over the training steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures.figure import LEGEND_ABOVE, Figure, Theme, apply_theme, figure
from normcore.figures.styles import Style, styles_of


@dataclass(frozen=True, slots=True)
class Stairs:
    """Step curve of a method's seeds.

    Attributes:
        name: text in the legend.
        points: (step, share of the seeds that have not reached the target).
    """

    name: str
    method: str
    points: Sequence[tuple[float, float]]


def survival(stairs: Sequence[Stairs], theme: Theme) -> Figure:
    """Draw a step curve for each method. An open circle at its end means that some seeds never reached the target."""
    end = max((step for one in stairs for step, _ in one.points), default=0.0)
    shown = [one for one in stairs if one.points]
    styles = styles_of([one.method for one in shown])
    traces = [trace for one, style in zip(shown, styles, strict=True) for trace in _traces(one, style, end, theme)]
    return apply_theme(
        figure(
            traces,
            "Seeds that have reached the target",
            "training steps",
            "seeds at the target",
            yaxis={"title": {"text": "seeds at the target"}, "range": [-0.03, 1.05], "tickformat": ".0%"},
            xaxis={"title": {"text": "training steps"}, "rangemode": "tozero"},
            **LEGEND_ABOVE,
        ),
        theme,
    )


def _traces(stairs: Stairs, style: Style, end: float, theme: Theme) -> list[dict[str, Any]]:
    colour = style.colour(theme)
    last, left = stairs.points[-1]
    points = [*stairs.points, (end, left)] if left == 0 and last < end else [*stairs.points]
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": stairs.name,
        "marker": {"color": colour, "symbol": style.plotly_symbol, "size": 7},
        "x": [step for step, _ in points],
        "y": [1 - share for _, share in points],
        "line": {"color": colour, "dash": style.dash, "width": 2, "shape": "hv"},
    }
    if left == 0:
        return [line]
    circle = {"color": colour, "symbol": "circle-open", "size": 10, "line": {"width": 2}}
    ended = {"type": "scatter", "mode": "markers", "x": [last], "y": [1 - left], "marker": circle}
    return [line, {**ended, "name": f"{stairs.name}: ended below", "showlegend": False}]

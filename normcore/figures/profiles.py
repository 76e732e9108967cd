"""Figure of performance profiles: shares of tasks in which a method is within a factor of the fastest (Dolan and More
2002)."""

from collections.abc import Sequence
from dataclasses import dataclass

from normcore.figures.figure import LEGEND_ABOVE, Figure, Theme, apply_theme, figure
from normcore.figures.styles import style_of


@dataclass(frozen=True, slots=True)
class ProfileCurve:
    """Performance profile of a method.

    Attributes:
        points: (factor, share of the tasks in which the method's time is within this factor of the fastest method's).
    """

    method: str
    points: Sequence[tuple[float, float]]


def profiles(methods: Sequence[ProfileCurve], theme: Theme) -> Figure:
    """Draw a step curve for each method, over a logarithmic axis of factors."""
    traces = []
    for profile in methods:
        style = style_of(profile.method)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": profile.method,
                "x": [factor for factor, _ in profile.points],
                "y": [share for _, share in profile.points],
                "line": {"color": style.colour(theme), "dash": style.dash, "width": 2, "shape": "hv"},
                "marker": {"color": style.colour(theme), "symbol": style.plotly_symbol, "size": 8, "maxdisplayed": 8},
            }
        )
    y = "share of the tasks"
    return apply_theme(
        figure(
            traces,
            "Performance profiles",
            "times the fastest's",
            y,
            xaxis={"title": {"text": "times the fastest's"}, "type": "log", "tickvals": [1, 1.5, 2, 3, 4]},
            yaxis={"title": {"text": y}, "range": [-0.03, 1.05], "tickformat": ".0%"},
            **LEGEND_ABOVE,
        ),
        theme,
    )

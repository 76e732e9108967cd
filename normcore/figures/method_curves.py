"""Learning curves of methods: each the mean of its seeds within a band, in the method's own colour, symbol and line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures.figure import LEGEND_ABOVE, Figure, Theme, figure, target_line, themed
from normcore.figures.styles import Style, styles_of

MARKERS = 8  # on a line
OPACITY = {"light": 0.16, "dark": 0.22}  # of a band


@dataclass(frozen=True, slots=True)
class Line:
    """A method's curve.

    Attributes:
        name: as the legend has it.
        low, high: of the mean's interval; None of one seed.
    """

    name: str
    method: str
    x: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]


def method_curves(
    lines: Sequence[Line], theme: Theme, *, title: str, x: str, y: str, target: float | None, percent: bool = False
) -> Figure:
    """A line with its band for each.

    Args:
        x, y: titles of the axes.
        target: shown as a dotted line; None if there is none.
        percent: whether values are shares, to be shown in per cent.
    """
    styles = styles_of([line.method for line in lines])
    traces = [trace for line, style in zip(lines, styles, strict=True) for trace in _traces(line, style, theme)]
    axis = {"title": {"text": y}, "tickformat": ".0%" if percent else "", "zeroline": False, **_range(lines, target)}
    marks = target_line(target, percent) if target is not None else {}
    return themed(
        figure(
            traces,
            title,
            x,
            y,
            yaxis=axis,
            xaxis={"title": {"text": x}, "zeroline": False},
            **LEGEND_ABOVE,
            hovermode="closest",
            **marks,
        ),
        theme,
    )


def _range(lines: Sequence[Line], target: float | None) -> dict[str, Any]:
    """What is worth seeing: without the worst tenth of all means, which are those of the first steps."""
    means = sorted(mean for line in lines for mean in line.mean)
    if not means:
        return {}
    rises = sum(line.mean[-1] - line.mean[0] for line in lines if line.mean) > 0
    tenth = len(means) // 10
    low, high = (means[tenth], means[-1]) if rises else (means[0], means[-1 - tenth])
    low, high = (low, high) if target is None else (min(low, target), max(high, target))
    margin = 0.05 * (high - low) or 0.05
    return {"range": [low - margin, high + margin]}


def _traces(line: Line, style: Style, theme: Theme) -> list[dict[str, Any]]:
    colour = style.colour(theme)
    return [*_band(line, colour, theme), _mean(line, style, colour)]


def _mean(line: Line, style: Style, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": list(line.x),
        "y": list(line.mean),
        "line": {"color": colour, "dash": style.dash, "width": 2},
        "marker": {
            "color": colour,
            "symbol": style.plotly_symbol,
            "size": 9,
            "maxdisplayed": MARKERS,
            "line": {"width": 1.5 if style.hollow else 0, "color": colour},
        },
    }


def _band(line: Line, colour: str, theme: Theme) -> list[dict[str, Any]]:
    """One closed line around the band, if there is any."""
    limits = zip(line.x, line.low, line.high, strict=True)
    known = [(x, low, high) for x, low, high in limits if low is not None and high is not None]
    if not known:
        return []
    x, low, high = (list(values) for values in zip(*known, strict=True))
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [*x, *reversed(x)],
            "y": [*high, *reversed(low)],
            "fill": "toself",
            "fillcolor": colour,
            "opacity": OPACITY[theme],
            "line": {"width": 0},
            "showlegend": False,
            "hoverinfo": "skip",
        }
    ]

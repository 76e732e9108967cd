"""Figure of methods' learning curves: the mean over seeds with a band, in each method's own colour, symbol and line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures import divergence, ranges
from normcore.figures.figure import LEGEND_ABOVE, Figure, Theme, apply_theme, figure, target_line
from normcore.figures.ranges import Range
from normcore.figures.styles import Style, styles_of

MARKERS = 8  # symbols on a line, at most
OPACITY = {"light": 0.16, "dark": 0.22}  # of a band


@dataclass(frozen=True, slots=True)
class MethodLine:
    """Learning curve of a method: means over seeds.

    Attributes:
        name: text in the legend.
        low, high: limits of the mean's confidence interval; None for a single seed.
        seeds, diverged: number of seeds, and number of seeds that diverged. The curve ends where the first seed
            diverges.
    """

    name: str
    method: str
    x: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]
    seeds: int = 1
    diverged: int = 0


def method_curves(
    lines: Sequence[MethodLine],
    theme: Theme,
    *,
    title: str,
    x: str,
    y: str,
    target: float | None,
    percent: bool = False,
) -> Figure:
    """Draw each learning curve as a line with a band.

    Args:
        x, y: titles of the axes.
        target: value of a dotted line; None if there is no target.
        percent: whether values are shares, to be shown in per cent.
    """
    styles = styles_of([line.method for line in lines])
    traces = [trace for line, style in zip(lines, styles, strict=True) for trace in _traces(line, style, theme)]
    seen = _range(lines, target)
    traces += _divergences(lines, styles, seen, theme)
    formats = {"tickformat": ".0%", "hoverformat": ".2%"} if percent else {"tickformat": "", "hoverformat": ".4~g"}
    axis = {"title": {"text": y}, "zeroline": False, **formats, **_with_margin(seen)}
    marks = target_line(target, percent) if target is not None else {}
    return apply_theme(
        figure(
            traces,
            title,
            x,
            y,
            yaxis=axis,
            xaxis={"title": {"text": x}, "zeroline": False},
            **LEGEND_ABOVE,
            hovermode="x unified",  # one line reads all curves
            hoverdistance=-1,  # wherever the pointer is
            **marks,
        ),
        theme,
    )


def _range(lines: Sequence[MethodLine], target: float | None) -> Range | None:
    """Range of the y axis. It shows each line and band without the worst tenth of the line's points (the first steps).

    Of lines with diverged seeds it shows only as much as keeps the other lines readable.
    """
    rises = sum(line.mean[-1] - line.mean[0] for line in lines if line.mean) > 0
    steady = [value for line in lines if not line.diverged for value in _worth_seeing(line, rises)]
    diverged = [value for line in lines if line.diverged for value in _values(line)]
    seen = ranges.choose_range(steady, diverged)
    if seen is None or target is None:
        return seen
    return Range(min(seen.low, target), max(seen.high, target))


def _with_margin(seen: Range | None) -> dict[str, Any]:
    if seen is None:
        return {}
    margin = 0.05 * (seen.high - seen.low) or 0.05
    return {"range": [seen.low - margin, seen.high + margin]}


def _worth_seeing(line: MethodLine, rises: bool) -> list[float]:
    """Values of a line and its band, without the worst tenth of the line's points."""
    worst_first = sorted(range(len(line.mean)), key=lambda k: line.mean[k], reverse=not rises)
    return _values(line, worst_first[len(worst_first) // 10 :])


def _values(line: MethodLine, places: Sequence[int] | None = None) -> list[float]:
    """Means and limits of the band at ``places``, indices of points; None takes all points."""
    of = range(len(line.mean)) if places is None else places
    found = [value for k in of for value in (line.mean[k], line.low[k], line.high[k])]
    return [value for value in found if value is not None]


def _divergences(
    lines: Sequence[MethodLine], styles: Sequence[Style], seen: Range | None, theme: Theme
) -> list[dict[str, Any]]:
    """Marks at the ends of the lines that end because seeds diverged."""
    end = max((line.x[-1] for line in lines if line.x), default=0.0)
    return [
        divergence.mark(
            line.x[-1],
            seen.clip_value(line.mean[-1]),
            f"{line.diverged} of {line.seeds} diverged",
            style.colour(theme),
            to_the_right=line.x[-1] <= end / 2,
        )
        for line, style in zip(lines, styles, strict=True)
        if line.diverged and line.x and seen is not None
    ]


def _traces(line: MethodLine, style: Style, theme: Theme) -> list[dict[str, Any]]:
    colour = style.colour(theme)
    return [*_band(line, colour, theme), _mean(line, style, colour)]


def _mean(line: MethodLine, style: Style, colour: str) -> dict[str, Any]:
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


def _band(line: MethodLine, colour: str, theme: Theme) -> list[dict[str, Any]]:
    """Closed outline of the line's band; an empty list if no limits are known."""
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

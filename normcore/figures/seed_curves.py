"""Learning curves of one experiment: a line for each seed, all in the method's colour and told apart by symbols, and
their mean, dashed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from normcore.figures import divergence, ranges
from normcore.figures.figure import Figure, Theme, figure, target_line, themed
from normcore.figures.styles import PLOTLY_SYMBOLS, style_of

MARKERS = 6  # on a line
SHARE = {"tickformat": ".0%", "minallowed": 0, "maxallowed": 1}
OPACITY = 0.7  # of a seed's line


@dataclass(frozen=True, slots=True)
class Line:
    """A curve.

    Attributes:
        name: as the legend has it.
        meta: what a page that draws it must know of it to make it longer.
        diverged: whether it ends because the run diverged.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    meta: Mapping[str, Any] = field(default_factory=dict)
    diverged: bool = False


def seed_curves(
    seeds: Sequence[Line],
    mean: Line | None,
    method: str,
    theme: Theme,
    *,
    x: str,
    y: str,
    target: float | None,
    percent: bool = False,
) -> Figure:
    """A line for each seed; one without points, too, because it may get some.

    Args:
        mean: of the seeds; None of a single one.
        method: whose colour they have.
        x, y: titles of the axes.
        target: shown as a dotted line; None if there is none.
        percent: whether values are shares, to be shown in per cent.
    """
    colour = style_of(method).colour(theme)
    traces = [_seed(line, colour, k) for k, line in enumerate(seeds)]
    if mean is not None:
        traces.append({**_line(mean), "mode": "lines", "line": {"color": colour, "dash": "dash", "width": 3}})
    traces += _divergences(seeds, colour)
    return themed(
        figure(
            traces,
            "",
            x,
            y,
            xaxis={"title": {"text": x}, "zeroline": False, "rangemode": "tozero"},
            yaxis={"title": {"text": y}, "zeroline": False, **(SHARE if percent else _clipping(seeds))},
            margin={"l": 64, "r": 16, "t": 8, "b": 48},
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            showlegend=True,
            hovermode="closest",
            **(target_line(target, percent) if target is not None else {}),
        ),
        theme,
    )


def _values(seeds: Sequence[Line], *, diverged: bool) -> list[float]:
    return [value for line in seeds if line.diverged == diverged for value in line.y]


def _clipping(seeds: Sequence[Line]) -> dict[str, Any]:
    """A run that diverges may reach any value; the others stay readable beside it."""
    limits = ranges.clipping(_values(seeds, diverged=False), _values(seeds, diverged=True))
    return {"autorangeoptions": limits} if limits else {}


def _divergences(seeds: Sequence[Line], colour: str) -> list[dict[str, Any]]:
    """A mark at the end of each seed that diverged."""
    seen = ranges.shown(_values(seeds, diverged=False), _values(seeds, diverged=True))
    end = max((line.x[-1] for line in seeds if line.x), default=0.0)
    return [
        divergence.mark(
            line.x[-1],
            seen.clipped(line.y[-1]),
            f"{line.name} diverged",
            colour,
            to_the_right=line.x[-1] <= end / 2,
            diverged=line.meta.get("run"),
        )
        for line in seeds
        if line.diverged and line.x and seen is not None
    ]


def _line(line: Line) -> dict[str, Any]:
    return {"type": "scatter", "name": line.name, "x": list(line.x), "y": list(line.y), "meta": dict(line.meta)}


def _seed(line: Line, colour: str, k: int) -> dict[str, Any]:
    symbols = list(PLOTLY_SYMBOLS.values())
    return {
        **_line(line),
        "mode": "lines+markers",
        "opacity": OPACITY,
        "line": {"color": colour, "width": 1.5},
        "marker": {"color": colour, "symbol": symbols[k % len(symbols)], "size": 8, "maxdisplayed": MARKERS},
    }

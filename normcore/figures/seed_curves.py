"""Figure of the learning curves of one experiment: a line for each seed, and the dashed mean of all seeds.

All lines have the method's colour; each seed has another symbol.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from normcore.figures import divergence, ranges
from normcore.figures.figure import Figure, Theme, apply_theme, figure, target_line
from normcore.figures.styles import PLOTLY_SYMBOLS, style_of

MARKERS = 6  # symbols on a line, at most
SHARE = {"tickformat": ".0%", "minallowed": 0, "maxallowed": 1}
OPACITY = 0.7  # of a seed's line


@dataclass(frozen=True, slots=True)
class SeedLine:
    """Learning curve of one seed, or the mean of the seeds.

    Attributes:
        name: text in the legend.
        meta: facts that the page's script needs to append later points to the line.
        diverged: whether the line ends because the run diverged.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    meta: Mapping[str, Any] = field(default_factory=dict)
    diverged: bool = False


def seed_curves(
    seeds: Sequence[SeedLine],
    mean: SeedLine | None,
    method: str,
    theme: Theme,
    *,
    x: str,
    y: str,
    target: float | None,
    percent: bool = False,
) -> Figure:
    """Draw a line for each seed, also for seeds without points, which may get points later.

    Args:
        mean: mean of the seeds; None for a single seed.
        method: method that gives the colour of all lines.
        x, y: titles of the axes.
        target: value of a dotted line; None if there is no target.
        percent: whether values are shares, to be shown in per cent.
    """
    colour = style_of(method).colour(theme)
    traces = [_seed(line, colour, k) for k, line in enumerate(seeds)]
    if mean is not None:
        traces.append({**_line(mean), "mode": "lines", "line": {"color": colour, "dash": "dash", "width": 3}})
    traces += _divergences(seeds, colour)
    return apply_theme(
        figure(
            traces,
            "",
            x,
            y,
            xaxis={"title": {"text": x}, "zeroline": False, "rangemode": "tozero"},
            yaxis={"title": {"text": y}, "zeroline": False, **(SHARE if percent else _limit_y_axis(seeds))},
            margin={"l": 64, "r": 16, "t": 8, "b": 48},
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            showlegend=True,
            hovermode="closest",
            **(target_line(target, percent) if target is not None else {}),
        ),
        theme,
    )


def _values(seeds: Sequence[SeedLine], *, diverged: bool) -> list[float]:
    return [value for line in seeds if line.diverged == diverged for value in line.y]


def _limit_y_axis(seeds: Sequence[SeedLine]) -> dict[str, Any]:
    """Limits of the y axis, so that values of diverged seeds do not make the other lines unreadable."""
    limits = ranges.choose_clip_limits(_values(seeds, diverged=False), _values(seeds, diverged=True))
    return {"autorangeoptions": limits} if limits else {}


def _divergences(seeds: Sequence[SeedLine], colour: str) -> list[dict[str, Any]]:
    """Marks at the ends of the lines of seeds that diverged."""
    seen = ranges.choose_range(_values(seeds, diverged=False), _values(seeds, diverged=True))
    end = max((line.x[-1] for line in seeds if line.x), default=0.0)
    return [
        divergence.mark(
            line.x[-1],
            seen.clip_value(line.y[-1]),
            f"{line.name} diverged",
            colour,
            to_the_right=line.x[-1] <= end / 2,
            diverged=line.meta.get("run"),
        )
        for line in seeds
        if line.diverged and line.x and seen is not None
    ]


def _line(line: SeedLine) -> dict[str, Any]:
    return {"type": "scatter", "name": line.name, "x": list(line.x), "y": list(line.y), "meta": dict(line.meta)}


def _seed(line: SeedLine, colour: str, k: int) -> dict[str, Any]:
    symbols = list(PLOTLY_SYMBOLS.values())
    return {
        **_line(line),
        "mode": "lines+markers",
        "opacity": OPACITY,
        "line": {"color": colour, "width": 1.5},
        "marker": {"color": colour, "symbol": symbols[k % len(symbols)], "size": 8, "maxdisplayed": MARKERS},
    }

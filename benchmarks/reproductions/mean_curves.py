"""Figure of learning curves: for each method, the mean of its seeds with an interval."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from normcore.figures.figure import PALETTE, Figure, figure

OPACITY = 0.16  # of the area of an interval


class Band(NamedTuple):
    """Mean of the seeds at x, with its interval, which is None for a single seed."""

    x: float
    mean: float
    interval: tuple[float, float] | None


def mean_curves(curves: Mapping[str, Sequence[Band]], title: str, x: str, y: str, baseline: str = "") -> Figure:
    """Figure with a line for each curve, and the interval of the mean as a band around the line.

    Args:
        curves: curves by name, in the order of the legend.
        x, y: titles of the axes.
        baseline: name of the curve that is dashed.
    """
    traces = []
    for k, (name, bands) in enumerate(curves.items()):
        colour = PALETTE[k % len(PALETTE)]
        traces += [*_interval(bands, colour), _line(name, bands, colour, "dash" if name == baseline else "solid")]
    return figure(traces, title, x, y)


def _line(name: str, bands: Sequence[Band], colour: str, dash: str) -> dict[str, Any]:
    points = {"x": [band.x for band in bands], "y": [band.mean for band in bands]}
    return {"type": "scatter", "mode": "lines", "name": name, **points, "line": {"color": colour, "dash": dash}}


def _interval(bands: Sequence[Band], colour: str) -> list[dict[str, Any]]:
    """Filled area of the interval; empty if no point has an interval."""
    known = [(band.x, *band.interval) for band in bands if band.interval is not None]
    if not known:
        return []
    x, low, high = (list(values) for values in zip(*known, strict=True))
    around = {"x": [*x, *reversed(x)], "y": [*high, *reversed(low)]}
    filled = {"fill": "toself", "fillcolor": colour, "opacity": OPACITY, "line": {"width": 0}}
    return [{"type": "scatter", "mode": "lines", **around, **filled, "showlegend": False, "hoverinfo": "skip"}]

"""Figure of parallel coordinates: an axis for each field of a sweep, and a line for each cell.

The axes are drawn as lines of a scatter figure, because Plotly's own parallel coordinates write styles into the page.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from normcore.figures.figure import LEGEND_ABOVE, THEMES, Figure, Theme, apply_theme, figure

Kind = Literal["other", "diverged", "first", "best"]
NAMES: dict[Kind, str] = {
    "other": "other cells",
    "diverged": "diverged",
    "first": "tie for first",
    "best": "best by validation",
}
COLOURS: dict[Theme, dict[Kind, str]] = {
    "light": {"other": "#7c8792", "diverged": "#7d5200", "first": "#1d4fd0", "best": "#14181d"},
    "dark": {"other": "#7b8691", "diverged": "#e9bb5c", "first": "#8db6ff", "best": "#e9edf1"},
}
WIDTHS: dict[Kind, float] = {"other": 0.8, "diverged": 0.8, "first": 1.6, "best": 4}
MAX_TICKS = 12
LETTERS = 14  # characters of a tick


@dataclass(frozen=True, slots=True)
class ParallelAxis:
    """Axis of a figure of parallel coordinates.

    Attributes:
        ticks: pairs of a place from 0 to 1 and its label.
    """

    name: str
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class ParallelLine:
    """Line of a cell.

    Attributes:
        name: name of the cell, and its value.
        places: place on each axis, from 0 to 1; None where the line ends, because the cell has no value.
    """

    name: str
    places: Sequence[float | None]
    kind: Kind


def parallel(axes: Sequence[ParallelAxis], lines: Sequence[ParallelLine], theme: Theme, *, title: str) -> Figure:
    """Draw each cell as a line over all axes; the best cells are drawn last, above the others."""
    traces = [_trace(kind, [line for line in lines if line.kind == kind], theme) for kind in NAMES]
    drawn = figure(
        [trace for trace in traces if trace["x"]],
        title,
        "",
        "",
        xaxis={
            "range": [-0.25, len(axes) - 0.6],
            "tickvals": list(range(len(axes))),
            "ticktext": [axis.name for axis in axes],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={"range": [-0.06, 1.06], "visible": False, "fixedrange": True},
        hovermode="closest",
        shapes=[_line(k) for k in range(len(axes))],
        annotations=[_label(k, *tick, theme) for k, axis in enumerate(axes) for tick in axis.ticks[:MAX_TICKS]],
        **LEGEND_ABOVE,
    )
    return apply_theme(drawn, theme)


def _trace(kind: Kind, lines: Sequence[ParallelLine], theme: Theme) -> dict[str, Any]:
    """One trace for all lines of a kind, with gaps between the lines."""
    n_axes = len(lines[0].places) if lines else 0
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{NAMES[kind]} ({len(lines)})" if kind != "best" else NAMES[kind],
        "x": [x for _ in lines for x in (*range(n_axes), None)],
        "y": [place for line in lines for place in (*line.places, None)],
        "text": [line.name for line in lines for _ in range(n_axes + 1)],
        "hoverinfo": "text",
        "line": {
            "color": COLOURS[theme][kind],
            "width": WIDTHS[kind],
            **({"dash": "dot"} if kind == "diverged" else {}),
        },
    }


def _line(k: int) -> dict[str, Any]:
    return {"type": "line", "x0": k, "x1": k, "y0": 0, "y1": 1, "line": {"width": 1}}


def _label(k: int, place: float, text: str, theme: Theme) -> dict[str, Any]:
    """Label of a tick, to the right of its axis, on the colour of the ground so that lines do not hide it."""
    return {
        "x": k,
        "y": place,
        "text": text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…",
        "xanchor": "left",
        "xshift": 3,
        "showarrow": False,
        "bgcolor": THEMES[theme]["ground"],
        "opacity": 0.9,
        "font": {"size": 11},
    }

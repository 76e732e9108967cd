"""Common parts of all figures: titled axes, a palette for colour-blind people, colours of light and dark pages."""

import json
from collections.abc import Mapping
from typing import Any, Literal

Figure = dict[str, Any]
"""A Plotly figure as plain JSON: ``data``, a list of traces, and ``layout``."""
Theme = Literal["light", "dark"]

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")
"""Colours of Okabe and Ito 2008, without yellow, as it cannot be seen on white."""
THEMES: Mapping[Theme, Mapping[str, str]] = {
    "light": {"text": "#14181d", "ground": "#ffffff", "grid": "#d6dce2"},
    "dark": {"text": "#e9edf1", "ground": "#171b21", "grid": "#2d353e"},
}
"""Colours of the pages: text, background of cards, grid lines."""


LINE = 20  # pixels: height of one line of a title


LEGEND_ABOVE: Mapping[str, Any] = {
    "margin": {"l": 64, "r": 16, "t": 80, "b": 48},
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
}
"""Layout that puts the legend between title and plot, so that it is read before the curves."""


def figure(traces: list[dict[str, Any]], title: str, x: str, y: str, **layout: Any) -> Figure:
    """Make a figure of ``traces``; ``x`` and ``y`` are the titles of its axes."""
    base = {
        "title": {"text": title},
        "colorway": list(PALETTE),
        "xaxis": {"title": {"text": x}},
        "yaxis": {"title": {"text": y}},
        "margin": {"l": 60, "r": 20, "t": 30 + LINE * (1 + title.count("<br>")), "b": 50},
        "legend": {"orientation": "h", "y": -0.25},
    }
    return {"data": traces, "layout": base | layout}


def target_line(target: float, percent: bool) -> dict[str, Any]:
    """Dotted horizontal line at the target. Its label stands at the left end, where curves are far from the target."""
    shown = f"{target:.0%}" if percent else f"{target:g}"
    at = {"xref": "paper", "yref": "y"}
    line = {"type": "line", "x0": 0, "x1": 1, "y0": target, "y1": target, "line": {"dash": "dot", "width": 1.5}, **at}
    text = {"text": f"target {shown}", "x": 0, "y": target, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {"shapes": [line], "annotations": [{**text, **at}]}


def apply_theme(figure: Figure, theme: Theme) -> Figure:
    """Copy of a figure in the colours of a light or a dark page."""
    colours = THEMES[theme]
    axes: dict[str, Any] = {
        name: {**axis, "gridcolor": colours["grid"], "zerolinecolor": colours["grid"]}
        for name, axis in figure["layout"].items()
        if name.startswith(("xaxis", "yaxis"))
    }
    shapes = [
        {**shape, "line": {"color": colours["text"], **shape["line"]}} for shape in figure["layout"].get("shapes", [])
    ]
    ground: dict[str, Any] = {
        "paper_bgcolor": colours["ground"],
        "plot_bgcolor": colours["ground"],
        "font": {"color": colours["text"]},
    }
    label = {"bgcolor": colours["ground"], "bordercolor": colours["grid"], "font": {"color": colours["text"]}}
    if "unified" in figure["layout"].get("hovermode", ""):
        ground["hoverlabel"] = {**label, "namelength": -1}
    marks = {"shapes": shapes} if shapes else {}
    return {**figure, "layout": {**figure["layout"], **axes, **marks, **ground}}


def as_json(figure: Figure) -> bytes:
    """Content of a JSON file with the figure."""
    return json.dumps(figure, allow_nan=False).encode()

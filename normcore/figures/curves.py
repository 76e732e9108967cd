"""Figure of learning curves: every series over the steps, one panel for each quantity."""

from collections.abc import Mapping, Sequence
from typing import Any

from normcore.figures import ranges
from normcore.figures.figure import LEGEND_ABOVE, PALETTE, Figure, figure

Point = tuple[float, float]
PANEL_HEIGHT = 220  # pixels


def curves(
    series: Mapping[str, Sequence[Point]],
    title: str,
    x: str = "step",
    units: Mapping[str, str] = {},
    *,
    diverged: bool = False,
) -> Figure:
    """Draw one panel for each quantity, with a line for each split.

    Args:
        series: points (x, y) by name; ``valid.accuracy`` is the quantity ``accuracy`` of the split ``valid``.
        x: title of the x axis.
        units: unit by quantity, for quantities that have a unit.
        diverged: whether the curves end because the run diverged. Then their end is marked, and extreme values are not
            shown.
    """
    parts = {name: _parts(name) for name in series}
    splits, quantities = (list(dict.fromkeys(part[k] for part in parts.values())) for k in (0, 1))
    traces = [
        _line(name, points, quantities.index(parts[name][1]), splits.index(parts[name][0]))
        for name, points in series.items()
    ]
    rows = max(len(quantities), 1)
    axes = {}
    for row, quantity in enumerate(quantities):
        unit = units.get(quantity)
        named = f"{quantity} ({unit})" if unit else quantity
        axes[f"yaxis{_number(row)}"] = {"title": {"text": named}, "domain": _domain(row, rows)}
        if diverged:
            values = [y for name, points in series.items() if parts[name][1] == quantity for _, y in points]
            axes[f"yaxis{_number(row)}"] |= {"autorangeoptions": ranges.choose_clip_limits((), values)}
    bottom = _number(rows - 1)
    below = {"title": {"text": x}, "anchor": f"y{bottom}"}
    end = max((points[-1][0] for points in series.values() if points), default=None)
    marks = _end_line(end) if diverged and end is not None else {}
    return figure(traces, title, x, "", **LEGEND_ABOVE, **axes, xaxis=below, height=PANEL_HEIGHT * rows + 100, **marks)


def _end_line(x: float) -> dict[str, Any]:
    """Dotted vertical line at ``x`` through all panels, with the word "diverged" at its top."""
    line = {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": {"dash": "dot", "width": 1.5}}
    text = {"text": "diverged", "x": x, "y": 1, "xanchor": "right", "yanchor": "top", "showarrow": False}
    at = {"xref": "x", "yref": "paper"}
    return {"shapes": [{**line, **at}], "annotations": [{**text, **at}]}


def _parts(name: str) -> tuple[str, str]:
    """Split a name into split and quantity. A split is an identifier: ``gradient_norm gain=0.1`` has none."""
    split, _, quantity = name.rpartition(".")
    return (split, quantity) if split.isidentifier() else ("", name)


def _line(name: str, points: Sequence[Point], row: int, split: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(points) < 50 else "lines",
        "name": name,
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "xaxis": "x",
        "yaxis": f"y{_number(row)}",
        "line": {"color": PALETTE[split % len(PALETTE)]},
    }


def _number(row: int) -> str:
    """Suffix of an axis name for a panel, as Plotly counts: "", "2", "3" for y, y2, y3."""
    return "" if row == 0 else str(row + 1)


def _domain(row: int, rows: int) -> list[float]:
    """Part of the figure's height, from 0 to 1, that a panel takes; the first panel is on top."""
    gap = 0.0 if rows == 1 else 0.3 / rows
    top = 1 - row / rows
    return [round(max(top - 1 / rows + gap, 0.0), 4), round(top, 4)]

"""Figure of means with intervals, one row for each method; numbers are values, differences or ratios."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures.figure import Figure, Theme, apply_theme, figure
from normcore.figures.styles import style_of

ROW, AROUND = 44, 110  # pixels: height of a row, and of everything around the rows


@dataclass(frozen=True, slots=True)
class Interval:
    """Row of the figure: a mean and its interval.

    Attributes:
        name: text at the row.
        method: method that gives colour and symbol.
        limits: lower and upper limit of the interval; None if they are not known.
        dots: values of single seeds.
        filled: whether the symbol is filled; False for numbers of a paper.
    """

    name: str
    method: str
    mean: float
    limits: tuple[float, float] | None
    dots: Sequence[float] = ()
    filled: bool = True


def intervals(
    rows: Sequence[Interval],
    theme: Theme,
    *,
    title: str,
    x: str,
    line: float | None,
    percent: bool = False,
    log: bool = False,
) -> Figure:
    """Draw a row for each interval, the first on top.

    Args:
        x: title of the axis.
        line: position of a dashed line (the baseline's value, no difference, or the same speed); None for no line.
        percent: whether numbers are shares.
        log: whether the axis is logarithmic.
    """
    traces = [trace for k, row in enumerate(rows) for trace in _traces(row, k, theme)]
    axis: dict[str, Any] = {"title": {"text": x}, "zeroline": False, "type": "log" if log else "linear"}
    if percent:
        axis["tickformat"] = ".1%"
    names = {"tickvals": list(range(len(rows))), "ticktext": [row.name for row in rows], "automargin": True}
    dashed = {"type": "line", "x0": line, "x1": line, "y0": 0, "y1": 1, "yref": "paper"}
    return apply_theme(
        figure(
            traces,
            title,
            x,
            "",
            xaxis=axis,
            yaxis={"range": [len(rows) - 0.5, -0.5], "showgrid": False, "zeroline": False, **names},
            height=ROW * len(rows) + AROUND,
            showlegend=False,
            shapes=[] if line is None else [{**dashed, "line": {"dash": "dash", "width": 1.5}}],
        ),
        theme,
    )


def _traces(row: Interval, k: int, theme: Theme) -> list[dict[str, Any]]:
    style = style_of(row.method)
    colour = style.colour(theme)
    symbol = style.plotly_symbol if row.filled else f"{style.plotly_symbol.removesuffix('-open')}-open"
    mean: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "name": row.name,
        "x": [row.mean],
        "y": [k],
        "marker": {"color": colour, "symbol": symbol, "size": 11},
    }
    if row.limits is not None:
        low, high = row.limits
        error = {"type": "data", "symmetric": False, "array": [high - row.mean], "arrayminus": [row.mean - low]}
        mean["error_x"] = {**error, "color": colour, "thickness": 2, "width": 6}
    if not row.dots:
        return [mean]
    marker = {"color": colour, "size": 5, "opacity": 0.7}
    dots = {"type": "scatter", "mode": "markers", "name": f"{row.name}: seeds", "hoverinfo": "x", "marker": marker}
    return [mean, {**dots, "x": list(row.dots), "y": [k + 0.3] * len(row.dots)}]

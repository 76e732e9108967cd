"""Translation of a page's figure, which is Plotly's JSON, into a figure of matplotlib.

Lines of a figure differ in colour, dash and symbol, so that they can be told apart in black and white. Titles are left
out: a paper has captions.
"""

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.transforms import blended_transform_factory

from normcore.figures import Figure
from normcore.figures.figure import PALETTE
from normcore.spec import SpecError
from service.errors import Invalid
from service.paper.axes import LETTER, plain, set_axis, wrap_names
from service.paper.heatmap import draw_heatmap

POINTS = 0.55  # of a pixel of a page: a figure of a page is about twice as wide as a column
ROW, LINE = 0.06, 0.11  # inches of a row of intervals, and of each line of its name
AROUND_ROWS = 0.42  # inches above and below the rows
MOST_ROWS, MOST_HEIGHT = 50, 9.0  # rows and inches that a page has space for
PLOT, PANEL, MOST_PLOT = 0.6, 0.36, 3.6  # height of a plot and of a panel, in widths of the figure; most inches
KINDS = {"scatter", "bar", "heatmap"}
DASHES: Mapping[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.6)),
    "dot": (0, (1, 1.2)),
    "dashdot": (0, (5, 1.3, 1, 1.3)),
    "longdash": (0, (8, 2)),
    "longdashdot": (0, (8, 1.5, 1, 1.5)),
}
IN_TURN = ("solid", "longdash", "dashdot", "longdashdot")
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "x-thin": "x",
}
ANCHORS = {"left": "left", "center": "center", "right": "right", "top": "top", "middle": "center", "bottom": "bottom"}
ASIDE = {"left": 2.0, "right": -2.0, "bottom": 1.0, "top": -1.0}  # points between a line and its text
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++")


def draw(figure: Figure, width: float) -> Drawing:
    """Draw a figure of a page in this width in inches. The height follows from its rows, panels and legend.

    Raises:
        Invalid: the figure has a kind of trace that is not drawn here.
    """
    layout = figure["layout"]
    names = _fitting(wrap_names(layout["yaxis"].get("ticktext", ())[:MOST_ROWS], width))
    rows = len(names)
    traces = [trace for trace in figure["data"] if not rows or _is_within(trace, rows)]
    panels = [name for name in layout if name.startswith("yaxis")]
    _check_kinds(traces)
    drawing = Drawing(figsize=(width, _height_of_rows(names) if rows else _height(width, len(panels))))
    drawing.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03, hspace=0.04)
    axes = dict(zip(panels, drawing.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0], strict=True))
    for style, trace in zip(_styles(traces), traces, strict=True):
        _draw_trace(axes[f"yaxis{trace.get('yaxis', 'y')[1:]}"], trace, style)
    _mark(axes[panels[0]], layout, widen=rows > 0)
    for k, name in enumerate(panels):
        set_axis(axes[name], "y", _first_rows(layout[name], rows), width)
        set_axis(axes[name], "x", layout["xaxis"] if k == len(panels) - 1 else {**layout["xaxis"], "title": {}}, width)
    if "scaleanchor" in layout["yaxis"]:
        axes["yaxis"].set_aspect("equal")
    if rows:
        _tell_rows(axes["yaxis"], rows, len(layout["yaxis"]["ticktext"]))
        axes["yaxis"].set_ylim(rows - 0.5, -0.5)
        axes["yaxis"].tick_params(axis="y", length=0)
    _put_legend(drawing, list(axes.values()), layout)
    return drawing


def _fitting(names: Sequence[str]) -> Sequence[str]:
    """Names of the first rows, as many as fit on a page."""
    return names[: int((MOST_HEIGHT - AROUND_ROWS) / _row_height(names))] if names else names


def _row_height(names: Sequence[str]) -> float:
    return ROW + LINE * max(name.count("\n") + 1 for name in names)


def _height_of_rows(names: Sequence[str]) -> float:
    return _row_height(names) * len(names) + AROUND_ROWS


def _first_rows(axis: Mapping[str, Any], rows: int) -> Mapping[str, Any]:
    return {**axis, "tickvals": axis["tickvals"][:rows], "ticktext": axis["ticktext"][:rows]} if rows else axis


def _tell_rows(axes: Axes, rows: int, of: int) -> None:
    if rows < of:
        axes.set_xlabel(f"{axes.get_xlabel()}\n(the first {rows} of {of} rows)")


def _height(width: float, panels: int) -> float:
    return min(PLOT * width, MOST_PLOT) if panels == 1 else panels * min(PANEL * width, MOST_PLOT) + 0.2


def _is_within(trace: Mapping[str, Any], rows: int) -> bool:
    return trace.get("type", "scatter") != "scatter" or any(isinstance(y, str) or y < rows for y in trace["y"])


# -- styles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PrintStyle:
    """Style of a trace in print.

    Attributes:
        place: number of the trace among those of the legend.
    """

    place: int
    dash: Any
    marker: str | None


def _styles(traces: Sequence[Mapping[str, Any]]) -> Iterator[PrintStyle]:
    """Yield a style for each trace. No two lines of a legend have the same dash and symbol, and opaque lines that are
    solid on the page get dashes in turn."""
    taken: set[tuple[str, str]] = set()
    place = 0
    in_turn = cycle(IN_TURN)
    for trace in traces:
        dash = trace.get("line", {}).get("dash", "solid")
        if dash == "solid" and _is_named(trace) and "lines" in trace.get("mode", "") and trace.get("opacity", 1) == 1:
            dash = next(in_turn)
        wanted = (dash, _symbol(trace))
        if _is_named(trace) and "lines" in trace.get("mode", ""):
            others = product(DASHES, [wanted[1]])
            wanted = next((one for one in [wanted, *others] if one not in taken), wanted)
            taken.add(wanted)
        yield PrintStyle(place, DASHES[wanted[0]], MARKERS.get(wanted[1], "o") if wanted[1] else None)
        place += _is_named(trace)


def _symbol(trace: Mapping[str, Any]) -> str:
    if "markers" not in trace.get("mode", ""):
        return ""
    return str(trace.get("marker", {}).get("symbol", "circle")).removesuffix("-open")


def _is_named(trace: Mapping[str, Any]) -> bool:
    return bool(trace.get("name")) and trace.get("showlegend", True)


# -- traces ----------------------------------------------------------------------------------------


def _check_kinds(traces: Sequence[Mapping[str, Any]]) -> None:
    foreign = {str(trace.get("type", "scatter")) for trace in traces} - KINDS
    if foreign:
        message = f"this figure has traces of type {', '.join(sorted(foreign))}, which only pages draw"
        raise Invalid([SpecError(("format",), f"{message}; leave out format", "not_printed")])


def _draw_trace(axes: Axes, trace: Mapping[str, Any], style: PrintStyle) -> None:
    kind = trace.get("type", "scatter")
    if kind == "heatmap":
        draw_heatmap(axes, trace)
    elif kind == "bar":
        _draw_bars(axes, trace, style)
    elif trace.get("fill") == "toself":
        axes.fill(trace["x"], trace["y"], color=trace["fillcolor"], alpha=trace.get("opacity", 0.2), linewidth=0)
    else:
        _draw_line(axes, trace, style)


def _draw_bars(axes: Axes, trace: Mapping[str, Any], style: PrintStyle) -> None:
    colour = _colour(trace.get("marker", {}), style.place)
    bars = axes.barh if trace.get("orientation") == "h" else axes.bar
    across, along = (trace["y"], trace["x"]) if trace.get("orientation") == "h" else (trace["x"], trace["y"])
    hatch = HATCHES[style.place % len(HATCHES)]
    label = plain(trace["name"]) if _is_named(trace) else None
    bars(across, _numbers(along), color=colour, hatch=hatch, edgecolor="white", linewidth=0.4, label=label)


def _draw_line(axes: Axes, trace: Mapping[str, Any], style: PrintStyle) -> None:
    line, marker, mode = trace.get("line", {}), trace.get("marker", {}), trace.get("mode", "lines")
    colour = _colour(line if "lines" in mode else marker, style.place)
    edge = _colour(marker, style.place) if "color" in marker else colour
    face = "white" if str(marker.get("symbol", "")).endswith("-open") else edge
    x, y = _numbers(trace["x"]), _numbers(trace["y"])
    axes.plot(
        x,
        y,
        color=colour,
        linestyle=style.dash if "lines" in mode else "none",
        linewidth=POINTS * line.get("width", 2),
        drawstyle="steps-post" if line.get("shape") == "hv" else "default",
        alpha=trace.get("opacity", marker.get("opacity")),
        marker=style.marker,
        markersize=0.48 * marker.get("size", 8),
        markerfacecolor=face,
        markeredgecolor=edge,
        markeredgewidth=0.8,
        markevery=_markevery(len(x), marker.get("maxdisplayed"), style.place),
        clip_on=trace.get("cliponaxis", True),
        label=plain(trace["name"]) if _is_named(trace) else None,
        zorder=3,
    )
    if "error_x" in trace or "error_y" in trace:
        bars = {"elinewidth": 0.9, "capsize": 1.8, "capthick": 0.9}
        along, up = (_errors(trace.get(f"error_{side}")) for side in "xy")
        axes.errorbar(x, y, xerr=along, yerr=up, fmt="none", ecolor=colour, zorder=2, **cast(Any, bars))
    if "text" in mode:
        for at_x, at_y, text in zip(x, y, trace["text"], strict=True):
            _write(axes, at_x, at_y, text, trace.get("textposition", "middle center"))


def _numbers(values: Sequence[Any]) -> list[Any]:
    return [math.nan if value is None else value for value in values]


def _colour(part: Mapping[str, Any], place: int) -> str:
    found = part.get("color")
    return found if isinstance(found, str) else PALETTE[place % len(PALETTE)]


def _markevery(points: int, most: int | None, place: int) -> tuple[int, int] | None:
    """Places of at most so many symbols. Those of two lines stand apart."""
    if most is None or points <= most:
        return None
    every = math.ceil(points / most)
    return (place * 3 % every, every)


def _errors(error: Mapping[str, Any] | None) -> list[list[float]] | None:
    return None if error is None else [_numbers(error.get("arrayminus", error["array"])), _numbers(error["array"])]


def _write(axes: Axes, x: Any, y: Any, text: str, position: str) -> None:
    """Write a text beside a point; ``position`` is Plotly's, as "middle right"."""
    down, across = position.split()
    shift = {"left": -4, "center": 0, "right": 4}[across], {"top": 4, "middle": 0, "bottom": -4}[down]
    side = {"left": "right", "right": "left", "center": "center"}[across]
    level = {"top": "bottom", "bottom": "top", "middle": "center"}[down]
    axes.annotate(plain(text), (x, y), shift, textcoords="offset points", ha=side, va=level, fontsize=6)


# -- marks and legend ------------------------------------------------------------------------------


def _mark(axes: Axes, layout: Mapping[str, Any], *, widen: bool) -> None:
    """Draw the lines and texts of a layout, such as a target.

    Args:
        widen: whether the x axis shows each line.
    """
    for shape in layout.get("shapes", ()):
        line = shape["line"]
        ends = ([shape["x0"], shape["x1"]], [shape["y0"], shape["y1"]])
        axes.plot(
            *ends,
            transform=_transform(axes, shape),
            color="#404040",
            linestyle=DASHES[line.get("dash", "solid")],
            linewidth=POINTS * line.get("width", 1.5),
            zorder=1,
            scalex=False,
            scaley=False,
        )
        if widen and shape.get("xref") != "paper":
            low, high = axes.get_xlim()
            margin = 0.03 * (high - low)
            axes.set_xlim(min(low, shape["x0"] - margin), max(high, shape["x1"] + margin))
    for note in layout.get("annotations", ()):
        across, down = ANCHORS[note.get("xanchor", "center")], ANCHORS[note.get("yanchor", "middle")]
        axes.annotate(
            plain(note["text"]),
            (note["x"], note["y"]),
            (ASIDE.get(across, 0), ASIDE.get(down, 0)),
            xycoords=_transform(axes, note),
            textcoords="offset points",
            ha=across,
            va=down,
            fontsize=6,
            color="#404040",
        )


def _transform(axes: Axes, mark: Mapping[str, Any]) -> Any:
    sides = [axes.transAxes if mark.get(f"{side}ref") == "paper" else axes.transData for side in "xy"]
    return blended_transform_factory(*sides)


def _put_legend(drawing: Drawing, panels: Sequence[Axes], layout: Mapping[str, Any]) -> None:
    """Put the legend above the plot, in as many columns as fit. The figure grows by its height."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not layout.get("showlegend", len(found) > 1) or not found:
        return
    width, height = drawing.get_size_inches()
    letters = int((width - 0.4) / LETTER)
    labels = ["\n".join(textwrap.wrap(label, letters)) or label for label in found]
    for columns in range(min(len(labels), 4), 0, -1):
        legend = drawing.legend(
            list(found.values()),
            labels,
            loc="outside upper left",
            ncols=columns,
            handlelength=2.6,
            columnspacing=1.2,
            borderpad=0.2,
            borderaxespad=0.2,
            labelspacing=0.35,
        )
        box = legend.get_window_extent()
        if box.width <= drawing.bbox.width or columns == 1:
            break
        legend.remove()
    drawing.set_size_inches(width, height + box.height / drawing.dpi)

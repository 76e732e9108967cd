"""Figures of a run as its page shows them: a matrix as a table, a heat map as SVG, films and plots by a script.

The task made the figures, so anything may stand in them. A figure of an unknown kind is only linked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from service import wording
from service.experiments.contents import StoredFigure
from service.experiments.downsampling import spread

MOST_CELLS = 20  # rows and columns of a matrix
MOST_ROWS, MOST_COLUMNS = 48, 96  # of a heat map
LEVELS = 8  # of a heat map's colour
TINTS = 4  # of a matrix' fields
STRONGEST = 3  # rows that are named for a column
NAMED_COLUMNS = 20
MOST_TRACES, MOST_NUMBERS = 6, 20  # in the table of a plot
LABEL = 40  # characters of a row's name

Written = Annotated[str, BeforeValidator(str)]


class Heatmap(BaseModel):
    """Trace of Plotly's kind ``heatmap``: values ``z`` by row and column."""

    type: Literal["heatmap"]
    x: list[Written] = Field(min_length=1)
    y: list[Written] = Field(min_length=1)
    z: list[list[float]]
    text: list[list[Written]] | None = None
    zmax: float | None = None


class Plot(BaseModel):
    """Trace of points or bars."""

    type: Literal["scatter", "bar"]
    name: Written = ""
    x: list[float | str] = Field(min_length=1)
    y: list[float | None]


@dataclass(frozen=True, slots=True)
class Titles:
    """Texts around a figure: its title, and the titles of its axes."""

    title: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Table of a small matrix, such as a confusion matrix.

    Attributes:
        rows: name of each row, and its fields: a text and a tint from 0 to ``TINTS``.
    """

    kind: ClassVar = "matrix"
    name: str
    titles: Titles
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[tuple[str, int]]]]


@dataclass(frozen=True, slots=True)
class HeatPicture:
    """Heat map, drawn as SVG in units of one field.

    Attributes:
        paths: opacity, and the path of all fields of this opacity.
        strongest: columns, each with the rows that have the largest values there.
        note: what is left out; empty if all is shown.
    """

    kind: ClassVar = "heat"
    name: str
    titles: Titles
    width: int
    labels: Sequence[str]
    paths: Sequence[tuple[float, str]]
    strongest: Sequence[tuple[str, str]]
    note: str


@dataclass(frozen=True, slots=True)
class PlotWithTable:
    """Figure of points or bars, which Plotly draws. The table has some of its numbers."""

    kind: ClassVar = "plot"
    name: str
    titles: Titles
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Film:
    """Pictures in grey levels, one after the other, which a script shows. A figure that is too large to be read is
    taken for a film; the script finds out."""

    kind: ClassVar = "film"
    name: str
    titles: Titles


@dataclass(frozen=True, slots=True)
class FigureLink:
    """Figure that the page cannot show; it has a link."""

    kind: ClassVar = "link"
    name: str
    titles: Titles


RunFigure = Matrix | HeatPicture | PlotWithTable | Film | FigureLink


def show_figure(stored: StoredFigure) -> RunFigure:
    """Choose how the page shows a figure."""
    named = Titles(stored.name.replace("_", " "), "", "")
    if stored.is_large:
        return Film(stored.name, named)
    try:
        return _show(stored.name, stored.content)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # also pydantic's ValidationError
        return FigureLink(stored.name, named)


def _show(name: str, content: Any) -> RunFigure:
    layout, traces = content["layout"], content["data"]
    titles = Titles(_words(layout), _words(layout["xaxis"]), _words(layout["yaxis"]))
    if content.get("frames"):
        return Film(name, titles)
    try:
        plots = [Plot.model_validate(trace) for trace in traces]
    except ValidationError:
        (only,) = traces
        names = layout["yaxis"].get("ticktext")
        heatmap = Heatmap.model_validate(only | ({"y": names} if names else {}))
        small = max(len(heatmap.x), len(heatmap.y)) <= MOST_CELLS and heatmap.text
        return _matrix(name, titles, heatmap) if small else _heat(name, titles, heatmap)
    return _plotted(name, titles, plots)


def _words(titled: Any) -> str:
    """Title of a figure or an axis, without line breaks."""
    return str((titled.get("title") or {}).get("text", "")).replace("<br>", " ")


def _matrix(name: str, titles: Titles, heatmap: Heatmap) -> Matrix:
    most = _largest(heatmap)
    texts = heatmap.text or []
    rows = [
        (of, [(text, round(TINTS * z / most)) for text, z in zip(written, values, strict=True)])
        for of, written, values in zip(heatmap.y, texts, heatmap.z, strict=True)
    ]
    return Matrix(name, titles, heatmap.x, rows)


def _heat(name: str, titles: Titles, heatmap: Heatmap) -> HeatPicture:
    columns = list(zip(*heatmap.z, strict=True))
    if len(heatmap.y) != len(heatmap.z) or len(heatmap.x) != len(columns):
        raise ValueError("names and values do not belong together")
    by_weight = sorted(range(len(heatmap.z)), key=lambda k: -sum(heatmap.z[k]))
    kept = sorted(by_weight[:MOST_ROWS])
    shown = [_coarsen(heatmap.z[k]) for k in kept]
    most = _largest(heatmap)
    levels = [[min(max(round(LEVELS * z / most), 0), LEVELS) for z in row] for row in shown]
    paths = [(level / LEVELS, _path(levels, level)) for level in range(1, LEVELS + 1)]
    return HeatPicture(
        name,
        titles,
        len(shown[0]),
        [heatmap.y[k][:LABEL] for k in kept],
        [(opacity, path) for opacity, path in paths if path],
        [(heatmap.x[k], _strongest(heatmap.y, columns[k])) for k in spread(range(len(columns)), NAMED_COLUMNS)],
        _left_out(len(heatmap.y), len(heatmap.x)),
    )


def _largest(heatmap: Heatmap) -> float:
    largest = heatmap.zmax if heatmap.zmax is not None else max(map(max, heatmap.z))
    return largest if largest > 0 else 1.0


def _coarsen(row: Sequence[float]) -> list[float]:
    """Largest values of consecutive columns, so that a row has at most ``MOST_COLUMNS``."""
    width = -(-len(row) // MOST_COLUMNS)
    return [max(row[k : k + width]) for k in range(0, len(row), width)]


def _path(levels: Sequence[Sequence[int]], level: int) -> str:
    """SVG path of the fields of a level; neighbours in a row are one rectangle."""
    parts = []
    for y, row in enumerate(levels):
        x = 0
        for found, same in groupby(row):
            length = len(list(same))
            if found == level:
                parts.append(f"M{x} {y}h{length}v1h-{length}z")
            x += length
    return "".join(parts)


def _strongest(names: Sequence[str], column: Sequence[float]) -> str:
    first = sorted(range(len(column)), key=lambda k: -column[k])[:STRONGEST]
    return ", ".join(f"{names[k][:LABEL]} {wording.figure(column[k])}" for k in first if column[k] > 0)


def _left_out(rows: int, columns: int) -> str:
    told = [f"the {MOST_ROWS} of {rows} rows with the largest sums"] if rows > MOST_ROWS else []
    if columns > MOST_COLUMNS:
        told.append(f"the largest value of each {-(-columns // MOST_COLUMNS)} columns")
    return f"Shown: {wording.listed(told)}." if told else ""


def _plotted(name: str, titles: Titles, plots: Sequence[Plot]) -> PlotWithTable:
    shown = plots[:MOST_TRACES]
    values = [dict(zip(plot.x, plot.y, strict=True)) for plot in shown]
    places = list(dict.fromkeys(x for plot in shown for x in plot.x))
    kept = spread(places, MOST_NUMBERS)
    columns = [plot.name or titles.y for plot in shown]
    return PlotWithTable(
        name, titles, columns, [(_place(x), [wording.figure(of.get(x)) for of in values]) for x in kept]
    )


def _place(x: float | str) -> str:
    return x if isinstance(x, str) else wording.figure(x)

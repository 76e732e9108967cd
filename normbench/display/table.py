"""Tables that fit where they are shown, and never cut what identifies.

A table that is too wide folds its prose and breaks its lists between words, then leaves out its least important
columns and says which, and where even that is not enough it shows each row as a block of lines. Where nobody looks (a
pipe, a file) it is as wide as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

GAP = 2  # characters between two columns
PROSE = 20  # characters; a column of prose gets no narrower


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table, and how it behaves where room is scarce.

    Attributes:
        prose: its cells may break into lines, within a long word if need be.
        words: its cells may break into lines between words alone.
        optional: it may be left out, the highest number first; 0: never.
    """

    name: str
    prose: bool = False
    words: bool = False
    optional: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; None shows as a dash. Cells are text, square brackets included.

    Attributes:
        note: what to know before reading the rows; it stands under the title.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    note: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.title, "bold")
        if self.note is not None:
            yield Text(self.note)
        if not self.rows:
            yield Text("none")
            return
        cells = [[_text(cell) for cell in row] for row in self.rows]
        kept = _fitting(self.columns, cells, options.max_width)
        if kept is None:
            yield from _blocks(self.columns, cells)
            return
        yield _grid([self.columns[k] for k in kept], [[row[k] for k in kept] for row in cells], options.max_width)
        left_out = [column.name for k, column in enumerate(self.columns) if k not in kept]
        if left_out:
            yield Text(f"Widen the terminal to see: {', '.join(left_out)}. --json shows everything.", "dim")


def _text(cell: Any) -> Text:
    return Text("–" if cell is None else " ".join(str(cell).split()))


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[int] | None:
    """The columns there is room for, or None if it takes blocks."""
    kept = list(range(len(columns)))
    least = [_least(column, [row[k] for row in rows]) for k, column in enumerate(columns)]
    while sum(least[k] for k in kept) + GAP * (len(kept) - 1) > width:
        spare = [k for k in kept if columns[k].optional]
        if not spare:
            return None
        kept.remove(max(spare, key=lambda k: columns[k].optional))
    return kept


def _least(column: Column, cells: Iterable[Text]) -> int:
    """The width below which the column would break what must stay whole."""
    header = max(map(cell_len, column.name.split()), default=0)
    if column.words:
        return max(header, *(cell_len(word) for cell in cells for word in cell.plain.split()))
    natural = max(cell.cell_len for cell in cells)
    return max(header, min(natural, PROSE) if column.prose else natural)


def _grid(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> RichTable:
    cells = [[row[k] for row in rows] for k in range(len(columns))]
    natural = [max(cell_len(c.name), *(cell.cell_len for cell in of)) for c, of in zip(columns, cells, strict=True)]
    least = [_least(column, of) for column, of in zip(columns, cells, strict=True)]
    widths = _shared(least, natural, width - GAP * (len(columns) - 1))
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column, of_column in zip(columns, widths, strict=True):
        grid.add_column(Text(column.name), width=of_column, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _shared(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """Widths from ``least`` on, up to ``natural``, the narrowest first served as far as ``width`` goes."""
    widths = list(least)
    spare = width - sum(least)
    while spare > 0 and (wanting := [k for k in range(len(widths)) if widths[k] < natural[k]]):
        widths[min(wanting, key=lambda k: widths[k])] += 1
        spare -= 1
    return widths


def _blocks(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> Iterable[Any]:
    """Each row as its first cell and, below it, a line for each of the others."""
    for row in rows:
        yield Text.assemble("# " if columns[0].name == "#" else "", row[0], style="bold")
        yield block({column.name: cell for column, cell in zip(columns[1:], row[1:], strict=True)})


def block(lines: Mapping[str, Any]) -> Padding:
    """Names and what they stand for, one a line, a little to the right."""
    grid = RichTable.grid(padding=(0, GAP, 0, 0))
    grid.add_column(width=max(map(cell_len, lines), default=0), style="dim")
    grid.add_column(overflow="fold")
    for name, value in lines.items():
        grid.add_row(Text(name), _text(value))
    return Padding(grid, (0, 0, 0, GAP), expand=False)

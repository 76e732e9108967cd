"""Tables that fit the terminal, and never cut an id or a name.

A table that is too wide first breaks its prose and its lists of words. Then it leaves out its least important columns,
and says which. If that is not enough, it shows each row as a block of lines. In a pipe or a file, a table keeps its
full width, unless COLUMNS says otherwise.
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
PROSE = 20  # characters; least width of a column of prose


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table, and what may be done with it in a narrow terminal.

    Attributes:
        prose: the cells may break into lines, even within a long word.
        words: the cells may break into lines, but only between words.
        optional: the order in which columns are left out, highest number first; 0: the column always stays.
    """

    name: str
    prose: bool = False
    words: bool = False
    optional: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns. None shows as a dash. Text in square brackets is shown as text, and is no markup.

    Attributes:
        note: hint for reading the rows; it is shown below the title.
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
        kept = _fit_columns(self.columns, cells, options.max_width)
        if kept is None:
            yield from _blocks(self.columns, cells)
            return
        yield _grid([self.columns[k] for k in kept], [[row[k] for k in kept] for row in cells], options.max_width)
        left_out = [column.name for k, column in enumerate(self.columns) if k not in kept]
        if left_out:
            yield Text(f"Widen the terminal to see: {', '.join(left_out)}. --json shows everything.", "dim")


def _text(cell: Any) -> Text:
    return Text("–" if cell is None else " ".join(str(cell).split()))


def _fit_columns(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[int] | None:
    """Indices of the columns that fit into ``width``; None if the table does not fit, even without optional columns."""
    kept = list(range(len(columns)))
    least = [_least(column, [row[k] for row in rows]) for k, column in enumerate(columns)]
    while sum(least[k] for k in kept) + GAP * (len(kept) - 1) > width:
        spare = [k for k in kept if columns[k].optional]
        if not spare:
            return None
        kept.remove(max(spare, key=lambda k: columns[k].optional))
    return kept


def _least(column: Column, cells: Iterable[Text]) -> int:
    """Least width of a column that breaks nothing that must stay whole."""
    header = max(map(cell_len, column.name.split()), default=0)
    if column.words:
        return max(header, *(cell_len(word) for cell in cells for word in cell.plain.split()))
    natural = max(cell.cell_len for cell in cells)
    return max(header, min(natural, PROSE) if column.prose else natural)


def _grid(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> RichTable:
    cells = [[row[k] for row in rows] for k in range(len(columns))]
    natural = [max(cell_len(c.name), *(cell.cell_len for cell in of)) for c, of in zip(columns, cells, strict=True)]
    least = [_least(column, of) for column, of in zip(columns, cells, strict=True)]
    widths = _share_width(least, natural, width - GAP * (len(columns) - 1))
    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for column, of_column in zip(columns, widths, strict=True):
        grid.add_column(Text(column.name), width=of_column, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _share_width(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """Widths of columns: at least ``least``, at most ``natural``. Room left in ``width`` goes to narrow ones first."""
    widths = list(least)
    spare = width - sum(least)
    while spare > 0 and (wanting := [k for k in range(len(widths)) if widths[k] < natural[k]]):
        widths[min(wanting, key=lambda k: widths[k])] += 1
        spare -= 1
    return widths


def _blocks(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> Iterable[Any]:
    """Show each row as its first cell and, below it, one line for each other cell."""
    for row in rows:
        yield Text.assemble("# " if columns[0].name == "#" else "", row[0], style="bold")
        yield block({column.name: cell for column, cell in zip(columns[1:], row[1:], strict=True)})


def block(lines: Mapping[str, Any]) -> Padding:
    """Indented lines, each with a name and its value."""
    grid = RichTable.grid(padding=(0, GAP, 0, 0))
    grid.add_column(width=max(map(cell_len, lines), default=0), style="dim")
    grid.add_column(overflow="fold")
    for name, value in lines.items():
        grid.add_row(Text(name), _text(value))
    return Padding(grid, (0, 0, 0, GAP), expand=False)

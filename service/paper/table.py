"""Table for a paper, before it is written in LaTeX or Markdown. All texts are plain: the writers escape them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class PaperColumn:
    """Column of a table for a paper."""

    head: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, slots=True)
class PaperCell:
    """Cell of a table for a paper; ``strong`` cells are set in bold."""

    text: str
    strong: bool = False


Row = Sequence[PaperCell]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that stand together, such as a tie group.

    Attributes:
        title: text above the rows; empty for no text.
    """

    rows: Sequence[Row]
    title: str = ""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Table for a paper.

    Attributes:
        label: words of the table's label, by which a text refers to it.
        empty: sentence that stands in place of rows if there are none.
    """

    label: str
    caption: str
    columns: Sequence[PaperColumn]
    groups: Sequence[RowGroup]
    empty: str

    @property
    def filled(self) -> list[RowGroup]:
        """Groups that have rows."""
        return [group for group in self.groups if group.rows]


def cells(*texts: str) -> list[PaperCell]:
    """Make a row of cells that are not in bold."""
    return [PaperCell(text) for text in texts]


def without_empty_columns(table: PaperTable, blank: str, always: int) -> PaperTable:
    """Copy of a table without the columns that have no content.

    Args:
        blank: text of a cell without content.
        always: number of columns, from the left, that stay in any case.
    """
    rows = [row for group in table.groups for row in group.rows]
    kept = [k for k in range(len(table.columns)) if k < always or any(row[k].text != blank for row in rows)]
    groups = [RowGroup([[row[k] for k in kept] for row in group.rows], group.title) for group in table.groups]
    return PaperTable(table.label, table.caption, [table.columns[k] for k in kept], groups, table.empty)

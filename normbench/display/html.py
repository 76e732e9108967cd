"""Tables and text for notebooks, as HTML and as plain text. All text is escaped; there is no script."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from io import StringIO
from typing import Any

from rich.console import Console, Group
from rich.text import Text

from normbench.display.table import Table

LEFT = ' style="text-align: left"'
WIDTH = 100  # characters of a line of what is neither a table nor text


def to_html(parts: Iterable[Any]) -> str:
    """HTML of tables, text and other things that rich draws, one below the other."""
    return f"<div>{''.join(_html(part) for part in _flat(parts))}</div>"


def to_text(parts: Iterable[Any]) -> str:
    """Plain text of tables, text and other things that rich draws, one below the other."""
    drawn = StringIO()
    console = Console(file=drawn, width=WIDTH, color_system=None, force_jupyter=False)  # else a notebook shows it, too
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines())


def progress_bar(done: int, total: int, text: str) -> str:
    """HTML of a bar with a text beside it."""
    return f'<progress value="{done}" max="{max(total, 1)}"></progress> {escape(text)}'


def _flat(parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, Group):
            yield from _flat(part.renderables)
        else:
            yield part


def _html(part: Any) -> str:
    if isinstance(part, Table):
        return "".join(_table(part))
    if isinstance(part, str | Text):
        return _paragraph(str(part))
    return f"<pre>{escape(to_text([part]))}</pre>"


def _paragraph(text: str) -> str:
    return f"<p>{'<br>'.join(map(escape, text.strip().splitlines()))}</p>" if text.strip() else ""


def _table(table: Table) -> Iterator[str]:
    yield f"<p><strong>{escape(table.title)}</strong></p>"
    yield _paragraph(table.note or "")
    if not table.rows:
        yield "<p>none</p>"
        return
    yield '<div style="overflow-x: auto"><table><thead>'
    yield _row("th", [column.name for column in table.columns])
    yield "</thead><tbody>"
    yield from (_row("td", row) for row in table.rows)
    yield "</tbody></table></div>"


def _row(tag: str, cells: Sequence[Any]) -> str:
    written = ("–" if cell is None else escape(str(cell)) for cell in cells)
    return f"<tr>{''.join(f'<{tag}{LEFT}>{cell}</{tag}>' for cell in written)}</tr>"

"""Tables for papers in Markdown, as GitHub and pandoc read it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from service.paper.table import PaperCell, PaperTable

RULES = {"left": ":---", "right": "---:"}
MARKUP = re.compile(r"([\\`*\[\]<>|#~$&]|(?<![^\W_])_|_(?![^\W_]))")
"""Characters that Markdown or HTML may read as markup. An underscore inside of a word is text."""


def escape_markdown(text: str) -> str:
    """Write any text on one line so that Markdown shows it as it is."""
    line = "".join(" " if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") else one for one in text)
    return MARKUP.sub(r"\\\1", line)


def write_markdown(tables: Sequence[PaperTable], address: str) -> str:
    """Write tables one after the other, each below its caption. The address that they come from stands in the end."""
    asked = re.sub(r"[^!-~]|[<>]", "", address)
    return "\n".join("\n".join(_table(table)) + "\n" for table in tables) + f"\nSource: <{asked}>\n"


def _table(table: PaperTable) -> Iterator[str]:
    yield from (escape_markdown(table.caption), "")
    yield _line([escape_markdown(column.head) for column in table.columns])
    yield _line([RULES[column.align] for column in table.columns])
    blank = [""] * (len(table.columns) - 1)
    if not table.filled:
        yield _line([escape_markdown(table.empty), *blank])
    for group in table.filled:
        if group.title:
            yield _line([f"*{escape_markdown(group.title)}*", *blank])
        yield from (_line([_cell(cell) for cell in row]) for row in group.rows)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _cell(cell: PaperCell) -> str:
    text = escape_markdown(cell.text)
    return f"**{text}**" if cell.strong and text.strip() else text

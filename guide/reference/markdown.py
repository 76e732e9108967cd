"""Pieces of Markdown that the reference pages share."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.pages.options import options_of

LITERAL = re.compile(r"``(.+?)``", re.DOTALL)
HTML = str.maketrans({"<": "&lt;", ">": "&gt;"})


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty without rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])


def cell(text: str) -> str:
    """Text on one line, in which no character ends the cell."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def code(text: str) -> str:
    """Text as code, empty if it is empty."""
    return f"`{text}`" if text else ""


def prose(text: str | None) -> str:
    """A docstring's text: literals as code, and no tag of HTML."""
    cleaned = inspect.cleandoc(text or "")
    parts = LITERAL.split(cleaned)  # every second one is a literal
    return "".join(code(part) if index % 2 else part.translate(HTML) for index, part in enumerate(parts))


def options(schema: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """The options of an object as a table, from its JSON Schema."""
    rows = [
        (code(option.name), option.may_be.translate(HTML), code(option.default), prose(option.help))
        for option in options_of(schema, without)
    ]
    return table(("option", "may be", "default", "meaning"), rows)


def joined(*blocks: str) -> str:
    """Blocks with an empty line between them; empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block) + "\n"

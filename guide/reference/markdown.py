"""Functions that make the Markdown of the reference pages."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from service.pages.options import options_of

LITERAL = re.compile(r"``(.+?)``", re.DOTALL)
HTML = str.maketrans({"<": "&lt;", ">": "&gt;"})


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown table; an empty text without rows."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines])


def cell(text: str) -> str:
    """Text of a table's cell: on one line, with ``|`` escaped."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def code(text: str) -> str:
    """Text as Markdown code; an empty text stays empty."""
    return f"`{text}`" if text else ""


def prose(text: str | None) -> str:
    """Markdown of a docstring: double backquotes become code, and ``<`` is escaped so that nothing is an HTML tag."""
    cleaned = inspect.cleandoc(text or "")
    parts = LITERAL.split(cleaned)  # every second part is a literal
    return "".join(code(part) if index % 2 else part.translate(HTML) for index, part in enumerate(parts))


def options(schema: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """Markdown table of an object's options, from its JSON Schema."""
    rows = [
        (code(option.name), option.may_be.translate(HTML), code(option.default), prose(option.help))
        for option in options_of(schema, without)
    ]
    return table(("option", "may be", "default", "meaning"), rows)


def joined(*blocks: str) -> str:
    """Join blocks with an empty line between them. Empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block) + "\n"

"""Markdown of tables, paragraphs, names and numbers."""

import textwrap
from collections.abc import Iterable, Sequence

Row = Sequence[str]
NOT_RUN = "not run"


def table(rows: Iterable[Row]) -> str:
    """Markdown table. The first row is its head."""
    head, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *body])


def prose(text: str) -> str:
    """Paragraph in lines of at most 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def words(name: str) -> str:
    """Name of a method or metric with spaces, as people read it."""
    return name.replace("_", " ")


def number(value: float) -> str:
    """Text of a number with four significant digits; without decimals from 1000 on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

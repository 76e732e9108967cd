"""Values in Markdown."""

import textwrap
from collections.abc import Iterable, Sequence

Row = Sequence[str]
NOT_RUN = "not run"


def table(rows: Iterable[Row]) -> str:
    """A table whose first row is its head."""
    head, *body = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *body])


def prose(text: str) -> str:
    """A paragraph in lines of 120 characters."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def words(name: str) -> str:
    """A name of ours as one reads it."""
    return name.replace("_", " ")


def number(value: float) -> str:
    """Four digits that count; whole numbers from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

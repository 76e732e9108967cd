"""Blocks of code in README and in the site of ``docs/``."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
RECIPES = ("method", "cell", "model", "task", "analysis")
"""Pages below docs/extend whose files are put into a copy of the tree."""
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """Block of code; a block with a title is a file of that name."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Blocks of a page that name a language."""
    return (Block(*found) for found in BLOCK.findall(page.read_text(encoding="utf-8")))


def recipes() -> Mapping[str, str]:
    """Python files in the pages on extending: content by path."""
    pages = (ROOT / "docs/extend" / f"{name}.md" for name in RECIPES)
    return {block.title: block.text for page in pages for block in blocks(page) if block.title.endswith(".py")}


def row_of_a_model() -> str:
    """Line that the page on models adds to the contract of models."""
    page = ROOT / "docs/extend/model.md"
    return next(block.text for block in blocks(page) if block.language == "python" and not block.title)


def example() -> str:
    """Example of the Python client."""
    return next(block.text for block in blocks(ROOT / "docs/use/notebook.md") if block.language == "python")

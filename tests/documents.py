"""Documents of this repository, and the blocks of code and the commands in them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").rglob("*.md")))
DOCUMENTS = (
    *PAGES,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "benchmarks").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
)
RECIPES = ("method", "cell", "model", "task", "analysis")
"""Pages below docs/extend whose files are put into a copy of the tree."""
FENCE = re.compile(r"^```[^\n]*\n.*?^```$", re.DOTALL | re.MULTILINE)
LANGUAGES = ("sh", "python", "text", "yaml", "json", "toml")
ANY_FENCE = re.compile(r"^[ \t>*+-]*(?:\d+[.)][ \t]*)?(?:```|~~~).*", re.MULTILINE)
"""Line that opens or ends a block in any form of Markdown, also in a list or a quotation."""
BLOCK = re.compile(r'```(\w+)(?: title="([^"]+)")?\n(.*)```', re.DOTALL)


class Block(NamedTuple):
    """Block of code; a block with a title is a file of that name."""

    language: str
    title: str
    text: str


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def blocks(document: Path) -> Iterator[Block]:
    """Blocks of a document."""
    return blocks_of(document.read_text(encoding="utf-8"))


def blocks_of(text: str) -> Iterator[Block]:
    """Blocks of a Markdown text. Each must name its language, and have its fences at the starts of lines."""
    check_fences(FENCE.sub("", text))
    for fence in FENCE.findall(text):
        found = BLOCK.fullmatch(fence)
        assert found, f"write the language behind ```, such as sh or text: {fence[:80]}"
        block = Block(*(part or "" for part in found.groups()))
        assert block.language in LANGUAGES, f"no language {block.language}; choose from {', '.join(LANGUAGES)}"
        check_fences(block.text)
        yield block


def check_fences(text: str) -> None:
    """Check that a text inside or outside of blocks has no fence. Such a fence is indented, or lacks its other half."""
    other = ANY_FENCE.search(text)
    assert not other, f"write ``` at the start of its line, before and after the block: {other and other[0]}"


def commands(text: str) -> Iterator[str]:
    """Commands of a shell block. A command is a line, or several lines if a quotation goes over them."""
    command = ""
    for line in text.splitlines(keepends=True):
        command += line
        try:
            shlex.split(command, comments=True)
        except ValueError:  # no closing quotation
            continue
        yield command
        command = ""
    assert command == "", f"the quotation does not end: {command}"


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

"""What a page that was printed before says, to be kept where a database has no run of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.reproductions.markdown import Row

HEADING = re.compile(r"^## ", re.MULTILINE)
LINK = re.compile(r"\[(.+)\]\(#.*\)")
GLANCE, FULL_SIZE = "At a glance", "At the papers' own size"


@dataclass(frozen=True, slots=True)
class Earlier:
    """Parts of a page.

    Attributes:
        sections: each section's text with its heading, by its title.
        at_a_glance: its lines in that table, by its title.
        full_size: the results at the papers' own size, by task.
    """

    sections: Mapping[str, str] = field(default_factory=dict)
    at_a_glance: Mapping[str, list[Row]] = field(default_factory=dict)
    full_size: Mapping[str, str] = field(default_factory=dict)


def earlier(page: str) -> Earlier:
    """Take a page apart that this program printed."""
    _, *parts = HEADING.split(page)
    texts = {part.partition("\n")[0]: "## " + part.strip() for part in parts}
    glance: dict[str, list[Row]] = {}
    for row in _rows(texts.get(GLANCE, "")):
        titled = LINK.fullmatch(row[0])
        glance.setdefault(titled[1] if titled else list(glance)[-1], []).append(row)
    return Earlier(texts, glance, {row[0]: row[-1] for row in _rows(texts.get(FULL_SIZE, ""))})


def _rows(text: str) -> list[Row]:
    """The rows of the text's table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]

"""Content of the earlier page. It stays where the database has no run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.reproductions.markdown import Row
from benchmarks.reproductions.orders import Held
from benchmarks.reproductions.seeds import OfSections

HEADING = re.compile(r"^## ", re.MULTILINE)
LINK = re.compile(r"\[(.+)\]\(#.*\)")
VERDICT = re.compile(r"\*(?P<source>[^*:]+): (?P<order>.+?)\*: (?P<found>.+)", re.DOTALL)
SEEN = re.compile(r"in (\d+) of (\d+) seeds(?: \((.+? in \d+)\))?")
IN = re.compile(r" in (\d+)(?=,|$)")
NO_SEEDS: OfSections = {}
GLANCE, FULL_SIZE = "At a glance", "At the papers' own size"


@dataclass(frozen=True, slots=True)
class Earlier:
    """Parts of an earlier page.

    Attributes:
        sections: text of each section with its heading, by title.
        at_a_glance: rows of each section in the table "At a glance", by title.
        full_size: our results at the papers' own size, by task.
        seeds: results by seed, from the file beside the page.
    """

    sections: Mapping[str, str] = field(default_factory=dict)
    at_a_glance: Mapping[str, list[Row]] = field(default_factory=dict)
    full_size: Mapping[str, str] = field(default_factory=dict)
    seeds: OfSections = field(default_factory=dict)


def earlier(page: str, seeds: OfSections = NO_SEEDS) -> Earlier:
    """Split a page that this program printed into its parts."""
    _, *parts = HEADING.split(page)
    texts = {part.partition("\n")[0]: "## " + part.strip() for part in parts}
    glance: dict[str, list[Row]] = {}
    for row in rows(texts.get(GLANCE, "")):
        titled = LINK.fullmatch(row[0])
        glance.setdefault(titled[1] if titled else list(glance)[-1], []).append(row)
    return Earlier(texts, glance, {row[0]: row[-1] for row in rows(texts.get(FULL_SIZE, ""))}, seeds)


def rows(text: str) -> list[Row]:
    """Rows of the Markdown table in a text, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def count_seeds(section: str) -> Mapping[str, Held]:
    """Number of seeds in which each order was seen, read from a section's text; by the order without its source."""
    found = (VERDICT.fullmatch(" ".join(part.split())) for part in section.split("\n\n"))
    return {part["order"]: held for part in found if part is not None and (held := _held(part["found"])) is not None}


def _held(text: str) -> Held | None:
    counted = SEEN.search(text)
    if counted is None:
        return None
    seeds, of, each = int(counted[1]), int(counted[2]), counted[3]
    return Held(seeds, of, [int(count) for count in IN.findall(each)] if each else [seeds])

"""Blocks of the documents that are written from results: from ``<!-- gpu_day: NAME -->`` to ``<!-- /gpu_day -->``.

A block without results stays as it is, so nothing is written that was not measured.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu_day import other_tables, speed_tables
from benchmarks.gpu_day.results import Results
from benchmarks.processes import ROOT

Content = dict[str, Any]


class Refusal(ValueError):
    """The results must not be written into the documents, or there are none."""


class Block(NamedTuple):
    """Block of a document.

    Attributes:
        parts: parts whose results it shows.
        text: function that makes the text from these results, by part; None if they have nothing for it.
    """

    document: str
    parts: tuple[str, ...]
    text: Callable[[Mapping[str, Content]], str | None]


KERNELS, README, ALL_ROWS = "docs/develop/kernels-gpu.md", "benchmarks/README.md", "benchmarks/kernels/measured.md"
BLOCKS: Mapping[str, Block] = {
    "trained": Block(KERNELS, ("training",), other_tables.tell_trained),
    "trial": Block(KERNELS, ("training", "exactness"), other_tables.tell_trial),
    "exactness": Block(KERNELS, ("exactness",), other_tables.exactness),
    "speed": Block(KERNELS, ("speed",), speed_tables.steps_of("speed")),
    "rnn": Block(KERNELS, ("rnn",), speed_tables.steps_of("rnn")),
    "training": Block(KERNELS, ("training",), other_tables.training),
    "memory": Block(KERNELS, ("memory",), other_tables.memory),
    "summary": Block(README, ("speed", "rnn"), speed_tables.summary),
    "rows": Block(ALL_ROWS, ("speed", "rnn"), speed_tables.all_rows),
    "sentence": Block("docs/results/speed.md", ("speed",), speed_tables.sentence),
    "library": Block("docs/use/library.md", ("speed",), speed_tables.library),
}


def write(folder: Path, *, dry_run: bool = False, root: Path = ROOT) -> None:
    """Write all blocks for which the folder has results; with ``dry_run``, print them.

    Raises:
        Refusal: there are no results; or they were interpreted, and this is no dry run; or a document has no place for
            a block.
    """
    texts = dict(make_texts(folder, dry_run=dry_run))
    if not texts:
        raise Refusal(f"{folder} has no results; measure with python -m benchmarks.gpu_day --to {folder}")
    documents = {BLOCKS[name].document for name in texts}
    written = {document: (root / document).read_text("utf-8") for document in documents}
    for name, text in texts.items():
        document = BLOCKS[name].document
        written[document] = replace_block(written[document], name, text, document)
        print(f"{document}: {name}" if not dry_run else f"<!-- {document}: {name} -->\n{text}\n")
    for document, text in written.items():
        if not dry_run:
            (root / document).write_text(text, "utf-8")


def make_texts(folder: Path, *, dry_run: bool = False) -> Iterator[tuple[str, str]]:
    """Make the texts of the blocks for which the folder has results.

    Raises:
        Refusal: results were interpreted, and this is no dry run.
    """
    for name, block in BLOCKS.items():
        found = {part: Results.read(folder, part).content for part in block.parts}
        found = {part: content for part, content in found.items() if content["measured"]}
        if any(content["machine"]["interpreted"] for content in found.values()) and not dry_run:
            raise Refusal(f"{folder} has results of the interpreter, which are no measurements; add --dry-run")
        text = block.text(found) if block.parts[0] in found or len(found) > 1 else None
        if text is not None:
            yield name, text


def replace_block(document: str, name: str, text: str, file: str) -> str:
    """Replace the text of a block.

    Raises:
        Refusal: the document does not have the block exactly once.
    """
    pattern = re.compile(rf"(<!-- gpu_day: {name} -->\n).*?(<!-- /gpu_day -->\n)", re.DOTALL)
    replaced, times = pattern.subn(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", document)
    if times != 1:
        raise Refusal(f"{file} has {times} blocks {name}, expected 1")
    return replaced

"""Novels from Project Gutenberg, sentence by sentence."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from normcore.data.registry import DATASETS, DatasetCorrupt, read_bytes

NAME = "gutenberg_books"
BEGIN, END = re.compile(r"\*\*\* ?START OF TH.*\*\*\*"), re.compile(r"\*\*\* ?END OF TH.*\*\*\*")
TITLES = "Mr|Mrs|Ms|Dr|St|Messrs|Esq|Capt|Col|Hon|Rev|No"  # whose dot ends no sentence
BREAK = re.compile(r"""(?<=[.!?])(["')\]]*)\s+(?=["'(\[]*[A-Z])""")
NO_END = re.compile(rf"\b(?:{TITLES}|[A-Z])\.$")
TOKEN = re.compile(r"'s\b|[A-Za-z]+(?:'(?!s\b)[A-Za-z]+)*|\d+|[^\w\s]")  # "Ada's" is two

Sentence = Sequence[str]
"""Words and punctuation marks, as they are written."""


def books(datasets_dir: Path | None) -> Mapping[str, list[Sentence]]:
    """The sentences of each novel, by the name of its file.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not the genuine one.
    """
    dataset = DATASETS[NAME]
    return {
        file.name: sentences(read_bytes(dataset, file.name, datasets_dir).decode("latin-1"), file.name)
        for file in dataset.files
    }


def sentences(text: str, name: str) -> list[Sentence]:
    """Sentences of a file, without the text that Project Gutenberg put around the book.

    A paragraph ends at an empty line; a sentence ends after a full stop, a question or an exclamation mark, with the
    quotation mark that may follow, before a capital letter, unless a title or an initial stands before the stop.

    Raises:
        DatasetCorrupt: the lines that begin and end the book are not there.
    """
    begin, end = BEGIN.search(text), END.search(text)
    if begin is None or end is None:
        raise DatasetCorrupt(f"{name}: expected a line *** START OF TH... and one *** END OF TH...; get it anew")
    body = text[begin.end() : end.start()].replace("\r", "")
    return [
        tokens
        for paragraph in re.split(r"\n\s*\n", body)
        for sentence in _split(" ".join(paragraph.split()))
        if (tokens := TOKEN.findall(sentence))
    ]


def _split(paragraph: str) -> list[str]:
    found, begin = [], 0
    for match in BREAK.finditer(paragraph):
        until = match.end(1)
        if not NO_END.search(paragraph[begin:until]):
            found.append(paragraph[begin:until])
            begin = match.end()
    return [*found, paragraph[begin:]]

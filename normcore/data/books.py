"""Novels from Project Gutenberg, sentence by sentence."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from normcore.data.registry import DATASETS, DatasetCorrupt, read_bytes

NAME = "gutenberg_books"
BEGIN, END = re.compile(r"\*\*\* ?START OF TH.*\*\*\*"), re.compile(r"\*\*\* ?END OF TH.*\*\*\*")
TITLES = "Mr|Mrs|Ms|Dr|St|Messrs|Esq|Capt|Col|Hon|Rev|No"  # the dot after them does not end a sentence
BREAK = re.compile(r"""(?<=[.!?])(["')\]]*)\s+(?=["'(\[]*[A-Z])""")
NO_END = re.compile(rf"\b(?:{TITLES}|[A-Z])\.$")
TOKEN = re.compile(r"'s\b|[A-Za-z]+(?:'(?!s\b)[A-Za-z]+)*|\d+|[^\w\s]")  # "Ada's" is two tokens

Sentence = Sequence[str]
"""Words and punctuation marks, as they stand in the book."""


def books(datasets_dir: Path | None) -> Mapping[str, list[Sentence]]:
    """Read the novels: the sentences of each novel, by file name.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or is not the genuine file.
    """
    dataset = DATASETS[NAME]
    return {
        file.name: sentences(read_bytes(dataset, file.name, datasets_dir).decode("latin-1"), file.name)
        for file in dataset.files
    }


def sentences(text: str, name: str) -> list[Sentence]:
    """Split a novel's file into sentences, without the text that Project Gutenberg put around the book.

    A paragraph ends at an empty line. A sentence ends after a full stop, question mark or exclamation mark (and a
    quotation mark that may follow) if a capital letter comes next. The dot of a title or an initial is no end.

    Raises:
        DatasetCorrupt: the file lacks the lines that mark the start and the end of the book.
    """
    begin, end = BEGIN.search(text), END.search(text)
    if begin is None or end is None:
        raise DatasetCorrupt(f"{name}: expected a line *** START OF TH... and one *** END OF TH...; download it again")
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

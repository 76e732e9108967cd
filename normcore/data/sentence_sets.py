"""The sentences that skip-thoughts are evaluated on: SICK, MR, CR, SUBJ and MPQA, in their official files.

Deviations: they are cut into words by a pattern, ``books.TOKEN``, and not by NLTK; and in small letters, as what
skip-thoughts are trained on is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from normcore.data.books import TOKEN
from normcore.data.lines import lines_of
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, read_bytes

NAME = "sentence_eval"
SICK = {"train": "SICK_train.txt", "valid": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
SICK_HEADER = ["pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"]
OPINIONS: Mapping[str, tuple[str, str]] = {
    "mr": ("rt-polarity.neg", "rt-polarity.pos"),
    "cr": ("custrev.neg", "custrev.pos"),
    "subj": ("subj.subjective", "subj.objective"),
    "mpqa": ("mpqa.neg", "mpqa.pos"),
}
"""The files whose sentences are labelled 0 and 1."""

Sentence = Sequence[str]


class Pair(NamedTuple):
    """Two sentences, and how related people find them, from 1 to 5."""

    first: Sentence
    second: Sentence
    score: float


@dataclass(frozen=True, slots=True)
class SentenceSets:
    """All five.

    Attributes:
        sick: by split.
        opinions: sentences of either label, by the set's name.
    """

    sick: Mapping[str, Sequence[Pair]]
    opinions: Mapping[str, tuple[Sequence[Sentence], Sequence[Sentence]]]
    checksums: Mapping[str, str]

    def first(self, count: int | None) -> "SentenceSets":
        """Limit each split to a number of pairs, and each set to a number of sentences, half of either label."""
        if count is None:
            return self
        return SentenceSets(
            {split: pairs[:count] for split, pairs in self.sick.items()},
            {name: (no[: count // 2], yes[: count // 2]) for name, (no, yes) in self.opinions.items()},
            self.checksums,
        )


def load(datasets_dir: Path | None) -> SentenceSets:
    """Read all files.

    Raises:
        DatasetMissing, DatasetCorrupt: one is not there, or not what it should be.
    """

    def text(file: str) -> str:
        return read_bytes(DATASETS[NAME], file, datasets_dir).decode("latin-1")

    return SentenceSets(
        {split: parse_sick(text(file), file) for split, file in SICK.items()},
        {name: (parse_lines(text(no)), parse_lines(text(yes))) for name, (no, yes) in OPINIONS.items()},
        dict(checksums(NAME)),
    )


def parse_lines(text: str) -> list[Sentence]:
    """A sentence a line; empty ones are left out."""
    return [words for line in lines_of(text) if (words := tokens(line))]


def parse_sick(text: str, name: str) -> list[Pair]:
    """Pairs of a file with tabulators between its columns and their names above.

    Raises:
        DatasetCorrupt: a line is something else; the message has its number.
    """
    head, *rows = lines_of(text) or [""]
    if head.split("\t") != SICK_HEADER:
        raise DatasetCorrupt(f"{name}, line 1: expected the columns {', '.join(SICK_HEADER)}")
    return [_pair(row, f"{name}, line {number}") for number, row in enumerate(rows, 2) if row.strip()]


def _pair(row: str, where: str) -> Pair:
    cells = row.split("\t")
    try:
        _, first, second, score, _ = cells
        pair = Pair(tokens(first), tokens(second), float(score))
    except ValueError as error:
        raise DatasetCorrupt(f"{where}: expected five columns, of which the fourth is a number ({error})") from error
    if not 1 <= pair.score <= 5 or not pair.first or not pair.second:
        raise DatasetCorrupt(f"{where}: expected two sentences and a score from 1 to 5, received {cells[3]}")
    return pair


def tokens(line: str) -> list[str]:
    """Words and marks, in small letters."""
    return TOKEN.findall(line.lower())

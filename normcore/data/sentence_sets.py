"""Sentence sets that evaluate skip-thoughts: SICK, MR, CR, SUBJ and MPQA, in their official files.

Deviations: sentences are cut into words by a pattern, ``books.TOKEN``, not by NLTK. They are turned into lower case,
like the sentences that skip-thoughts are trained on.
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
"""Two files of each set: the sentences with label 0, and the sentences with label 1."""

Sentence = Sequence[str]


class Pair(NamedTuple):
    """Pair of sentences, and how related people find the two, from 1 to 5."""

    first: Sentence
    second: Sentence
    score: float


@dataclass(frozen=True, slots=True)
class SentenceSets:
    """All five sentence sets: SICK, MR, CR, SUBJ and MPQA.

    Attributes:
        sick: pairs of SICK, by split.
        opinions: sentences with label 0 and sentences with label 1, by name of the set.
    """

    sick: Mapping[str, Sequence[Pair]]
    opinions: Mapping[str, tuple[Sequence[Sentence], Sequence[Sentence]]]
    checksums: Mapping[str, str]

    def first(self, count: int | None) -> "SentenceSets":
        """Limit each split of SICK to ``count`` pairs, and each other set to ``count`` sentences, half for each label.

        None keeps all.
        """
        if count is None:
            return self
        return SentenceSets(
            {split: pairs[:count] for split, pairs in self.sick.items()},
            {name: (no[: count // 2], yes[: count // 2]) for name, (no, yes) in self.opinions.items()},
            self.checksums,
        )


def load(datasets_dir: Path | None) -> SentenceSets:
    """Read the files of all five sentence sets.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be.
    """

    def text(file: str) -> str:
        return read_bytes(DATASETS[NAME], file, datasets_dir).decode("latin-1")

    return SentenceSets(
        {split: parse_sick(text(file), file) for split, file in SICK.items()},
        {name: (parse_lines(text(no)), parse_lines(text(yes))) for name, (no, yes) in OPINIONS.items()},
        dict(checksums(NAME)),
    )


def parse_lines(text: str) -> list[Sentence]:
    """Parse a text with one sentence on each line; empty lines are left out."""
    return [words for line in lines_of(text) if (words := tokens(line))]


def parse_sick(text: str, name: str) -> list[Pair]:
    """Parse a file of SICK into pairs. Tabulators separate the columns; the first line has the columns' names.

    Raises:
        DatasetCorrupt: a line has another form; the message has the line's number.
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
    """Split a line into words and punctuation marks, in lower case."""
    return TOKEN.findall(line.lower())

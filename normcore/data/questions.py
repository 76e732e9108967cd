"""Questions with a blank about short texts: CNN's questions (Hermann et al. 2015, arXiv:1506.03340), and questions
made from novels.

Names are replaced by markers such as ``@entity7``. The blank is ``@placeholder``.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from normcore.data.archive import files_of_tar
from normcore.data.books import books
from normcore.data.cloze import clozes
from normcore.data.lines import lines_of
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, locate, present_checksums, read_bytes

PLACEHOLDER = "@placeholder"
MARKER = re.compile(r"@entity\d+")
ENTITY = re.compile(r"@entity(0|[1-9][0-9]{0,3})")
"""A marker. Its number is below 10,000, as each number takes a word vector; CNN texts were seen with up to 354."""
SPLITS = {"training": "train", "validation": "valid", "test": "test"}
ARCHIVE, SAMPLE = "cnn.tgz", "cnn_top4_sample200.txt"
SENTENCES = 4
"""Number of sentences to which a text is cut (RBN section 5.4)."""


class Question(NamedTuple):
    """Question: a text in sentences, a question with one blank, and the marker that fills the blank."""

    passage: Sequence[Sequence[str]]
    question: Sequence[str]
    answer: str

    def filter_sentences(self, count: int = SENTENCES) -> "Question":
        """Cut the text to the ``count`` sentences that share the most words with the question, in the text's order. In
        a tie the earlier sentence stays.

        The filter of the RBN authors is not public. Here each different word of the question counts once; the blank and
        punctuation marks do not count.
        """
        asked = {word for word in self.question if word != PLACEHOLDER and any(map(str.isalnum, word))}
        shared = [len(asked & set(sentence)) for sentence in self.passage]
        best = sorted(range(len(shared)), key=lambda k: -shared[k])[:count]
        return self._replace(passage=[self.passage[k] for k in sorted(best)])

    @property
    def can_be_answered(self) -> bool:
        """Tell if the text has the marker that is the answer."""
        return any(self.answer in sentence for sentence in self.passage)


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions in three splits, and the digests of the files that they were read from."""

    train: Sequence[Question]
    valid: Sequence[Question]
    test: Sequence[Question]
    checksums: Mapping[str, str]


def load(name: str, datasets_dir: Path | None, *, full: bool = False) -> Questions:
    """Read ``cnn_questions`` (the official archive), ``cnn_sample`` (200 CNN questions with texts of four sentences) or
    ``gutenberg_books`` (questions made from novels).

    Args:
        full: whether texts keep all sentences; False cuts them to ``SENTENCES`` sentences.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be; the message names the file and
            the line in it.
    """
    dataset = DATASETS[name]
    if name == "gutenberg_books":
        found: dict[str, list[Question]] = {"train": [], "valid": [], "test": []}
        for sentences in books(datasets_dir).values():
            own = [_cut_question(Question(*cloze), full) for cloze in clozes(sentences)]
            for split, part in _cut(own).items():
                found[split] += part
        return Questions(**found, checksums=dict(checksums(name)))
    if name == "cnn_sample":
        text = read_bytes(dataset, SAMPLE, datasets_dir).decode()
        return Questions(**_cut(list(parse_numbered(text, SAMPLE))), checksums=dict(checksums(name)))
    found = {split: [] for split in SPLITS.values()}
    path = locate(dataset, dataset.file(ARCHIVE), datasets_dir)
    for split, question in _members(path):
        found[split].append(_cut_question(question, full))
    for folder, split in SPLITS.items():
        if not found[split]:
            raise DatasetCorrupt(
                f"{path.name}: there is no question in the folder {folder}; download the archive again"
            )
    return Questions(**found, checksums=present_checksums(dataset, datasets_dir))


def _cut_question(question: Question, full: bool) -> Question:
    return question if full else question.filter_sentences()


def _cut(questions: list[Question]) -> dict[str, list[Question]]:
    """Split the questions: the last twentieth tests, the twentieth before it validates, the others train."""
    part = max(len(questions) // 20, 1)
    return {"train": questions[: -2 * part], "valid": questions[-2 * part : -part], "test": questions[-part:]}


def parse_question(text: str, name: str) -> Question:
    """Parse a file of the official archive. It has five parts with empty lines between them: an address, the text, the
    question, the answer, and the name that each marker stands for.

    A sentence of the text ends at a full stop, a question mark or an exclamation mark.

    Raises:
        DatasetCorrupt: the file has another form; the message names the file, and the line if one line is at fault.
    """
    lines = lines_of(text)
    parts = _parts(lines)
    if len(parts) != 5:
        raise DatasetCorrupt(
            f"{name}: expected an address, a text, a question, an answer and a list of entities, with an empty line"
            f" between each two, received {len(parts)} parts; download the archive again"
        )
    _, passage, question, answer, entities = parts
    listed = {_marker(lines[number], f"{name}, line {number + 1}") for number in entities}
    if len(answer) > 1:
        raise DatasetCorrupt(f"{name}, line {answer[1] + 1}: expected one answer, received a second line")
    right = lines[answer[0]].strip()
    if right not in listed:
        at = f"{name}, line {answer[0] + 1}"
        raise DatasetCorrupt(f"{at}: the answer {right[:40]!r} is not among the entities; download it again")
    for number in (*passage, *question):
        strange = next((word for word in lines[number].split() if MARKER.fullmatch(word) and word not in listed), None)
        if strange is not None:
            raise DatasetCorrupt(f"{name}, line {number + 1}: {strange[:40]!r} is not among the entities")
    asked, words = ([word for number in part for word in lines[number].split()] for part in (question, passage))
    if PLACEHOLDER not in asked:
        raise DatasetCorrupt(f"{name}, line {question[0] + 1}: the question has no {PLACEHOLDER}")
    return Question(list(_sentences(map(sys.intern, words))), asked, right)


def _marker(line: str, where: str) -> str:
    marker, colon, _ = line.partition(":")
    if not colon or not ENTITY.fullmatch(marker):
        raise DatasetCorrupt(f"{where}: expected an entity such as @entity7:Ada, received {line[:40]!r}")
    return marker


def _parts(lines: Sequence[str]) -> list[list[int]]:
    """Group the numbers of the lines that are not empty: consecutive lines form a part."""
    told = [number for number, line in enumerate(lines) if line.strip()]
    return [[number for _, number in group] for _, group in groupby(enumerate(told), lambda pair: pair[1] - pair[0])]


def parse_numbered(text: str, name: str) -> Iterator[Question]:
    """Parse examples of five numbered lines: four sentences, and a question with its answer after a tabulator.

    Raises:
        DatasetCorrupt: a line has another form; the message has the line's number.
    """
    passage: list[list[str]] = []
    for number, line in enumerate(lines_of(text), 1):
        head, _, rest = line.partition(" ")
        if head != str(len(passage) + 1):
            raise DatasetCorrupt(
                f"{name}, line {number}: expected the number {len(passage) + 1}, received {head[:20]!r}"
            )
        if len(passage) < SENTENCES:
            passage.append(rest.split())
            if not passage[-1]:
                raise DatasetCorrupt(f"{name}, line {number}: expected a sentence")
            continue
        asked, *more = rest.split("\t")
        if len(more) != 2 or not ENTITY.fullmatch(more[0]) or PLACEHOLDER not in asked.split():
            raise DatasetCorrupt(f"{name}, line {number}: expected a question with {PLACEHOLDER}, and an entity")
        if not any(more[0] in sentence for sentence in passage):
            raise DatasetCorrupt(f"{name}, line {number}: the answer {more[0]} is in none of the four sentences")
        yield Question(passage, asked.split(), more[0])
        passage = []
    if passage:
        raise DatasetCorrupt(f"{name} ends after {len(passage)} sentences of a text, without their question")


def vocabulary(questions: Iterable[Question], size: int | None) -> list[str]:
    """Words of all texts and questions, the most frequent first, at most ``size``, without markers and blanks."""
    counts: Counter[str] = Counter()
    for question in questions:
        for sentence in (*question.passage, question.question):
            counts.update(word for word in sentence if not word.startswith("@entity") and word != PLACEHOLDER)
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]]


def _sentences(words: Iterable[str]) -> Iterator[list[str]]:
    sentence: list[str] = []
    for word in words:
        sentence.append(word)
        if word in (".", "?", "!"):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _members(path: Path) -> Iterator[tuple[str, Question]]:
    for member, content in files_of_tar(path, ".question"):
        name = PurePosixPath(member)
        split = SPLITS.get(name.parent.name)
        if split is None:
            raise DatasetCorrupt(f"{path.name}: {name} is in none of the folders {', '.join(SPLITS)}")
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            raise DatasetCorrupt(f"{path.name}: {name} is no UTF-8; download the archive again") from error
        yield split, parse_question(text, f"{path.name}: {name}")

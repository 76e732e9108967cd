"""Three sentences in a row, as skip-thoughts are trained on them: novels, or BookCorpus as its makers gave it out."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data.books import books
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, present_checksums, read_chunks

END, UNKNOWN = 0, 1  # numbers of words; those that are known follow, the most frequent first
SHORTER_THAN = 30  # words that each of the three has
RUN = 100  # sentences
VALID = 20  # one in so many runs validates

Sentence = Sequence[str]


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences in numbers of words.

    Attributes:
        codes: all sentences, one after the other, int32.
        starts: (S + 1), where each begins.
        middles: the sentences that have one before and one after them, all three short enough.
    """

    codes: Tensor
    starts: Tensor
    middles: Tensor

    def sentence(self, number: int) -> Tensor:
        """Its words (T), int64."""
        begin, end = self.starts[number : number + 2].tolist()
        return self.codes[begin:end].long()

    @property
    def lengths(self) -> Tensor:
        """Length of each middle sentence, in words."""
        return self.starts[self.middles + 1] - self.starts[self.middles]


@dataclass(frozen=True, slots=True)
class Triples:
    """Triples of sentences in two splits.

    Attributes:
        words: what is known, by number.
    """

    train: Text
    valid: Text
    words: Sequence[str]
    checksums: Mapping[str, str]


def load(name: str, datasets_dir: Path | None, vocabulary: int) -> Triples:
    """Read ``gutenberg_books`` or ``bookcorpus``; every twentieth run of a hundred sentences validates.

    Args:
        vocabulary: how many words are known, ``END`` and ``UNKNOWN`` among them.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be.
    """
    dataset = DATASETS[name]
    sources: Iterable[Iterable[Sentence]]
    if name == "bookcorpus":
        sources = (_lines(name, file.name, datasets_dir) for file in dataset.files)
    else:
        sources = ([[word.lower() for word in sentence] for sentence in own] for own in books(datasets_dir).values())
    read = _Read.of(sources)
    digests = present_checksums(dataset, datasets_dir) if name == "bookcorpus" else dict(checksums(name))
    words = _number_by_frequency(read, vocabulary)
    validates = read.places % VALID == VALID - 1
    train, valid = (_text(read, part) for part in (~validates, validates))
    if not len(train.middles) or not len(valid.middles):
        raise DatasetCorrupt(f"{name} has too few sentences of fewer than {SHORTER_THAN} words; get it anew")
    return Triples(train, valid, words, digests)


@dataclass(frozen=True, slots=True)
class _Read:
    """Sentences as they were read, in a few bytes a word: BookCorpus has a thousand million.

    Attributes:
        words: numbers of words, first in the order in which they came.
        codes: all sentences, one after the other, in these numbers.
        lengths: of each sentence (S), in words.
        runs: a number (S) for each hundred sentences of a source.
        places: which hundred of its source it is (S).
    """

    words: Mapping[str, int]
    codes: np.ndarray
    lengths: np.ndarray
    runs: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, sources: Iterable[Iterable[Sentence]]) -> "_Read":
        words: dict[str, int] = {}
        codes, lengths, runs, places = (array("i") for _ in range(4))
        run = -1
        for source in sources:
            for k, sentence in enumerate(source):
                run += k % RUN == 0
                codes.extend(words.setdefault(word, len(words)) for word in sentence)
                lengths.append(len(sentence))
                runs.append(run)
                places.append(k // RUN)
        numbers = (
            np.frombuffer(part, np.int32) if part else np.zeros(0, np.int32) for part in (codes, lengths, runs, places)
        )
        return cls(words, *numbers)


def _number_by_frequency(read: _Read, vocabulary: int) -> list[str]:
    """Number the words anew, those that are known by how often they occur; returns these."""
    counts = np.bincount(read.codes, minlength=len(read.words))
    ordered = sorted(read.words, key=lambda word: (-counts[read.words[word]], word))[: vocabulary - 2]
    number = np.full(len(read.words), UNKNOWN, dtype=np.int32)
    number[[read.words[word] for word in ordered]] = np.arange(2, 2 + len(ordered))
    np.take(number, read.codes, out=read.codes, mode="clip")  # another mode would make a copy
    return ["<eos>", "UNK", *ordered]


def _text(read: _Read, part: np.ndarray) -> Text:
    """The sentences of a part (S), a mask."""
    lengths, runs = read.lengths[part], read.runs[part]
    short = lengths < SHORTER_THAN
    middles = np.arange(1, len(lengths) - 1)
    inside = (runs[middles - 1] == runs[middles]) & (runs[middles + 1] == runs[middles])
    fit = short[middles - 1] & short[middles] & short[middles + 1]
    starts = np.concatenate([[0], lengths.cumsum(dtype=np.int64)])
    own = read.codes[np.repeat(part, read.lengths)]
    return Text(*map(torch.from_numpy, (own, starts, middles[inside & fit])))


def _lines(dataset: str, file: str, datasets_dir: Path | None) -> Iterator[Sentence]:
    """Sentences that are tokenized already, one a line."""
    rest, number = b"", 0
    for chunk in chain(read_chunks(DATASETS[dataset], file, datasets_dir), [b"\n"]):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            try:
                words = line.decode().lower().split()
            except UnicodeDecodeError as error:
                raise DatasetCorrupt(f"{file}, line {number}: no UTF-8 ({error.reason}); get it anew") from error
            if words:
                yield words

"""Triples: three sentences in a row, which train skip-thoughts. They come from novels, or from BookCorpus."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data.books import books
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, present_checksums, read_chunks

END, UNKNOWN = 0, 1  # numbers of words; known words have the numbers from 2 on, the most frequent first
SHORTER_THAN = 30  # words; each sentence of a triple has fewer
RUN = 100  # consecutive sentences that go into the same split
VALID = 20  # every twentieth run validates

Sentence = Sequence[str]


@dataclass(frozen=True, slots=True)
class Text:
    """Text of S sentences, encoded as numbers of words.

    Attributes:
        codes: word numbers of all sentences, one after the other, int32.
        starts: (S + 1), position in ``codes`` where each sentence begins, and the end.
        middles: numbers of the sentences that are the middle of a triple: three sentences in a row, each shorter than
            ``SHORTER_THAN`` words.
    """

    codes: Tensor
    starts: Tensor
    middles: Tensor

    def sentence(self, number: int) -> Tensor:
        """Word numbers (T), int64, of the sentence with this number."""
        begin, end = self.starts[number : number + 2].tolist()
        return self.codes[begin:end].long()

    @property
    def lengths(self) -> Tensor:
        """Length of each middle sentence, in words."""
        return self.starts[self.middles + 1] - self.starts[self.middles]


@dataclass(frozen=True, slots=True)
class Triples:
    """Triples of neighbouring sentences (the one before, the sentence, the one after), to train and to validate on.

    Attributes:
        words: the known words; word number i is ``words[i]``.
    """

    train: Text
    valid: Text
    words: Sequence[str]
    checksums: Mapping[str, str]


def load(name: str, datasets_dir: Path | None, vocabulary: int) -> Triples:
    """Read ``gutenberg_books`` or ``bookcorpus``. Of each source's blocks of 100 sentences, every twentieth validates.

    Args:
        vocabulary: number of known words, ``END`` and ``UNKNOWN`` included.

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
        raise DatasetCorrupt(f"{name} has too few sentences of fewer than {SHORTER_THAN} words; download it again")
    return Triples(train, valid, words, digests)


@dataclass(frozen=True, slots=True)
class _Read:
    """Sentences as they were read, in few bytes, as BookCorpus has a thousand million words. S sentences.

    Attributes:
        words: the number of each word; numbers are given in the order in which words first occur.
        codes: word numbers of all sentences, one after the other.
        lengths: (S,) length of each sentence, in words.
        runs: (S,) number of the run that each sentence belongs to; a run is 100 consecutive sentences of one source.
        places: (S,) number of that run within its own source.
    """

    words: Mapping[str, int]
    codes: np.ndarray
    lengths: np.ndarray
    runs: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, sources: Iterable[Iterable[Sentence]]) -> "_Read":
        words: defaultdict[str, int] = defaultdict(count().__next__)
        codes, lengths, runs, places = (array("i") for _ in range(4))
        run = -1
        for source in sources:
            for k, sentence in enumerate(source):
                run += k % RUN == 0
                codes.extend(map(words.__getitem__, sentence))
                lengths.append(len(sentence))
                runs.append(run)
                places.append(k // RUN)
        numbers = (
            np.frombuffer(part, np.int32) if part else np.zeros(0, np.int32) for part in (codes, lengths, runs, places)
        )
        return cls(words, *numbers)


def _number_by_frequency(read: _Read, vocabulary: int) -> list[str]:
    """Renumber the words of ``read`` in place, the most frequent first; returns the known words by number."""
    counts = np.bincount(read.codes, minlength=len(read.words))
    ordered = sorted(read.words, key=lambda word: (-counts[read.words[word]], word))[: vocabulary - 2]
    number = np.full(len(read.words), UNKNOWN, dtype=np.int32)
    number[[read.words[word] for word in ordered]] = np.arange(2, 2 + len(ordered))
    np.take(number, read.codes, out=read.codes, mode="clip")  # another mode would make a copy
    return ["<eos>", "UNK", *ordered]


def _text(read: _Read, part: np.ndarray) -> Text:
    """Make a text of the sentences that the mask ``part`` (S,) selects."""
    lengths, runs = read.lengths[part], read.runs[part]
    short = lengths < SHORTER_THAN
    middles = np.arange(1, len(lengths) - 1)
    inside = (runs[middles - 1] == runs[middles]) & (runs[middles + 1] == runs[middles])
    fit = short[middles - 1] & short[middles] & short[middles + 1]
    starts = np.concatenate([[0], lengths.cumsum(dtype=np.int64)])
    own = read.codes[np.repeat(part, read.lengths)]
    return Text(*map(torch.from_numpy, (own, starts, middles[inside & fit])))


def _lines(dataset: str, file: str, datasets_dir: Path | None) -> Iterator[Sentence]:
    """Read a file of tokenized sentences, one on each line, in lower case; empty lines are left out."""
    rest, number = b"", 0
    for chunk in chain(read_chunks(DATASETS[dataset], file, datasets_dir), [b"\n"]):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            number += 1
            try:
                words = line.decode().lower().split()
            except UnicodeDecodeError as error:
                raise DatasetCorrupt(f"{file}, line {number}: no UTF-8 ({error.reason}); download it again") from error
            if words:
                yield words

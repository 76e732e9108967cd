"""Three sentences in a row, as skip-thoughts are trained on them: novels, or BookCorpus as its makers gave it out."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
VALID = 20  # one in so many runs of sentences validates

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
        """Of each middle sentence, in words."""
        return self.starts[self.middles + 1] - self.starts[self.middles]


@dataclass(frozen=True, slots=True)
class Triples:
    """In two splits.

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
    if name == "bookcorpus":
        sources = {file.name: list(_lines(name, file.name, datasets_dir)) for file in dataset.files}
        digests = present_checksums(dataset, datasets_dir)
    else:
        sources = {
            file: [[word.lower() for word in sentence] for sentence in own] for file, own in books(datasets_dir).items()
        }
        digests = dict(checksums(name))
    counts: Counter[str] = Counter()
    for sentences in sources.values():
        for sentence in sentences:
            counts.update(sentence)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    words = ["<eos>", "UNK", *(word for word, _ in ordered[: vocabulary - 2])]
    number = {word: k for k, word in enumerate(words)}
    parts: tuple[list[list[Sentence]], list[list[Sentence]]] = ([], [])
    for sentences in sources.values():
        for k, begin in enumerate(range(0, len(sentences), 100)):
            parts[k % VALID == VALID - 1].append(sentences[begin : begin + 100])
    train, valid = (_encoded(runs, number) for runs in parts)
    if not len(train.middles) or not len(valid.middles):
        raise DatasetCorrupt(f"{name} has too few sentences of fewer than {SHORTER_THAN} words; get it anew")
    return Triples(train, valid, words, digests)


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
                yield [sys.intern(word) for word in words]


def _encoded(runs: Sequence[Sequence[Sentence]], number: Mapping[str, int]) -> Text:
    sentences = [sentence for run in runs for sentence in run]
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    codes = np.fromiter(
        (number.get(word, UNKNOWN) for sentence in sentences for word in sentence), np.int32, int(lengths.sum())
    )
    of_run = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    short = lengths < SHORTER_THAN
    middles = np.arange(1, len(sentences) - 1)
    inside = (of_run[middles - 1] == of_run[middles]) & (of_run[middles + 1] == of_run[middles])
    fit = short[middles - 1] & short[middles] & short[middles + 1]
    starts = np.concatenate([[0], lengths.cumsum()])
    return Text(*map(torch.from_numpy, (codes, starts, middles[inside & fit])))

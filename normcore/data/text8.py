"""text8 and its beginning: 27 symbols, kept as one byte each, so that 100,000,000 of them take 100 MB.

The usual split of text8 is 90,000,000 characters for training, 5,000,000 for validation and 5,000,000 for testing. That
of its beginning is our own.
"""

import string
from pathlib import Path

import numpy as np
import torch

from normcore.data.corpus import Corpus
from normcore.data.registry import DATASETS, Dataset, read_chunks

SYMBOLS = " " + string.ascii_lowercase
UNKNOWN = 255  # stands for a byte that is no symbol
NUMBERS = bytes(SYMBOLS.find(chr(byte)) % 256 for byte in range(256))
"""By byte: the number of its symbol, or ``UNKNOWN``."""
TEXT8_SPLIT = (90_000_000, 95_000_000)  # where validation text begins, and where test text does
PREFIX_SPLIT = (6_200_000, 6_540_000)


def text8(datasets_dir: Path | None) -> Corpus:
    """All of text8.

    Raises:
        DatasetMissing, DatasetCorrupt: it is not there, or not the official text.
    """
    return read(DATASETS["text8"], TEXT8_SPLIT, datasets_dir)


def text8_prefix(datasets_dir: Path | None) -> Corpus:
    """The first 6,877,825 characters of text8.

    Raises:
        DatasetMissing, DatasetCorrupt: it is not there, or not that text.
    """
    return read(DATASETS["text8_prefix"], PREFIX_SPLIT, datasets_dir)


def read(dataset: Dataset, split: tuple[int, int], datasets_dir: Path | None) -> Corpus:
    """A text of these 27 symbols, which is the only file of its data set, as uint8; the three splits share one memory.

    Args:
        split: where validation text begins, and where test text does.

    Raises:
        DatasetMissing, DatasetCorrupt: it is not there, or not the right one.
    """
    (file,) = dataset.files
    numbers = np.empty(file.size, np.uint8)
    done = 0
    for chunk in read_chunks(dataset, file.name, datasets_dir):
        numbers[done : done + len(chunk)] = np.frombuffer(chunk.translate(NUMBERS), np.uint8)
        done += len(chunk)
    assert numbers.max() < len(SYMBOLS)  # the digest was right, so this is about the registry
    text = torch.from_numpy(numbers)
    first, second = split
    checksums = {f"{dataset.name}/{file.name}": file.sha256}
    return Corpus(text[:first], text[first:second], text[second:], SYMBOLS, checksums)

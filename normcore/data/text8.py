"""text8, and its first 6,877,825 characters. Each of the 27 symbols takes one byte: 100,000,000 symbols take 100 MB.

The usual split of text8 is 90,000,000 characters for training, 5,000,000 for validation and 5,000,000 for testing. The
split of the first 6,877,825 characters is our own.
"""

import string
from pathlib import Path

import numpy as np
import torch

from normcore.data.corpus import Corpus
from normcore.data.registry import DATASETS, Dataset, read_chunks

SYMBOLS = " " + string.ascii_lowercase
UNKNOWN = 255  # number of a byte that is not a symbol
NUMBERS = bytes(SYMBOLS.find(chr(byte)) % 256 for byte in range(256))
"""Table from a byte to the number of its symbol, or to ``UNKNOWN``."""
TEXT8_SPLIT = (90_000_000, 95_000_000)  # first character of the validation text, and of the test text
PREFIX_SPLIT = (6_200_000, 6_540_000)


def text8(datasets_dir: Path | None) -> Corpus:
    """Read all of text8.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or is not the official text.
    """
    return read(DATASETS["text8"], TEXT8_SPLIT, datasets_dir)


def text8_prefix(datasets_dir: Path | None) -> Corpus:
    """Read the first 6,877,825 characters of text8.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or is not the right text.
    """
    return read(DATASETS["text8_prefix"], PREFIX_SPLIT, datasets_dir)


def read(dataset: Dataset, split: tuple[int, int], datasets_dir: Path | None) -> Corpus:
    """Read a text of the 27 symbols as uint8. The text must be the only file of ``dataset``.

    The three splits are views of one tensor.

    Args:
        split: first character of the validation text, and first character of the test text.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or is not the right file.
    """
    (file,) = dataset.files
    numbers = np.empty(file.size, np.uint8)
    done = 0
    for chunk in read_chunks(dataset, file.name, datasets_dir):
        numbers[done : done + len(chunk)] = np.frombuffer(chunk.translate(NUMBERS), np.uint8)
        done += len(chunk)
    assert numbers.max() < len(SYMBOLS)  # the digest is right: a failure here means a wrong entry in the registry
    text = torch.from_numpy(numbers)
    first, second = split
    checksums = {f"{dataset.name}/{file.name}": file.sha256}
    return Corpus(text[:first], text[first:second], text[second:], SYMBOLS, checksums)

"""Word vectors in the binary form of word2vec (Mikolov et al. 2013), such as GoogleNews-vectors-negative300.bin."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from normcore.data.registry import DATASETS, DatasetCorrupt, locate

NAME, FILE = "word2vec", "GoogleNews-vectors-negative300.bin"
WIDTH = 300


def load(wanted: Container[str], datasets_dir: Path | None) -> Mapping[str, np.ndarray]:
    """The vectors (300) of those words that are wanted and known.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or in another form.
    """
    dataset = DATASETS[NAME]
    return read(locate(dataset, dataset.file(FILE), datasets_dir), wanted)


def read(path: Path, wanted: Container[str], width: int = WIDTH) -> Mapping[str, np.ndarray]:
    """The same from a file: a line with the number of words and of numbers a word; then each word, a blank, and its
    numbers, float32 with the lowest byte first.

    Raises:
        DatasetCorrupt: it is something else; the message has the word's number.
    """
    found: dict[str, np.ndarray] = {}
    with path.open("rb") as stream:
        head = stream.readline(100).split()
        if len(head) != 2 or not all(part.isdigit() for part in head) or int(head[1]) != width:
            raise DatasetCorrupt(
                f"{path}, line 1: expected the number of words and {width}, received {b' '.join(head)!r}"
            )
        for k in range(int(head[0])):
            word = _word(stream)
            content = stream.read(4 * width)
            if word is None or len(content) < 4 * width:
                raise DatasetCorrupt(f"{path}: expected {int(head[0]):,} words, it ends at word {k + 1}; get it anew")
            if word in wanted:
                found[word] = np.frombuffer(content, "<f4")
    return found


def _word(stream: BinaryIO) -> str | None:
    """The next one, up to the blank after it; None at the end. A newline may stand before it."""
    letters = bytearray()
    while (letter := stream.read(1)) != b" ":
        if not letter or len(letters) > 1000:
            return None
        letters += letter
    return letters.lstrip(b"\n").decode("utf-8", "replace")

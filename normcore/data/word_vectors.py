"""Word vectors in the binary form of word2vec (Mikolov et al. 2013), such as GoogleNews-vectors-negative300.bin."""

import gzip
import zlib
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from normcore.data.registry import DATASETS, DatasetCorrupt, locate, present_checksums

NAME, FILE = "word2vec", "GoogleNews-vectors-negative300.bin"
WIDTH = 300


class WordVectors(NamedTuple):
    """Word vectors, 300 numbers for each word, and the digest of the file that they were read from."""

    vectors: Mapping[str, np.ndarray]
    checksums: Mapping[str, str]


def load(wanted: Container[str], datasets_dir: Path | None) -> WordVectors:
    """Read the vectors of the words in ``wanted``; words that the file does not have are left out.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or has another form.
    """
    dataset = DATASETS[NAME]
    vectors = read(locate(dataset, dataset.file(FILE), datasets_dir), wanted)
    return WordVectors(vectors, present_checksums(dataset, datasets_dir))


def read(path: Path, wanted: Container[str], width: int = WIDTH) -> Mapping[str, np.ndarray]:
    """Read the vectors of the words in ``wanted`` from a file, plain or gzipped.

    The first line has the number of words and the width of a vector. Then follows each word: its letters, a blank, and
    its vector, float32, little-endian.

    Raises:
        DatasetCorrupt: the file has another form; the message has the number of the word at fault.
    """
    try:
        with cast(IO[bytes], gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as stream:
            return dict(_read_wanted_vectors(stream, path, wanted, width))
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetCorrupt(f"{path} cannot be read: {error}; download it again") from error


def _read_wanted_vectors(
    stream: IO[bytes], path: Path, wanted: Container[str], width: int
) -> Iterator[tuple[str, np.ndarray]]:
    head = stream.readline(100).split()
    if len(head) != 2 or not all(part.isdigit() for part in head) or int(head[1]) != width:
        raise DatasetCorrupt(f"{path}, line 1: expected the number of words and {width}, received {b' '.join(head)!r}")
    count = int(head[0])
    for k in range(count):
        word = _word(stream)
        content = stream.read(4 * width)
        if word is None or len(content) < 4 * width:
            raise DatasetCorrupt(f"{path}: expected {count:,} words, it breaks off at word {k + 1}; download it again")
        vector = np.frombuffer(content, "<f4")
        if not np.isfinite(vector).all():
            raise DatasetCorrupt(f"{path}, word {k + 1}: expected finite numbers, in binary form; download it again")
        if word in wanted:
            yield word, vector
    if stream.read(2) not in (b"", b"\n"):
        raise DatasetCorrupt(
            f"{path} goes on after {count:,} words; expected word2vec's binary form, download it again"
        )


def _word(stream: IO[bytes]) -> str | None:
    """Read the next word, up to the blank after it; None at the end of the file. A newline before it is dropped."""
    letters = bytearray()
    while (letter := stream.read(1)) != b" ":
        if not letter or len(letters) > 1000:
            return None
        letters += letter
    return letters.lstrip(b"\n").decode("utf-8", "replace")

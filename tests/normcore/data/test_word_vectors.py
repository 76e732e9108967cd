"""Word vectors in the binary format of word2vec, as written by gensim and by the original program."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from normcore.data.registry import DatasetCorrupt
from normcore.data.word_vectors import read

VECTORS = {"</s>": [1.0, 2.0], "naïve": [-3.5, 0.25], "New_York": [0.0, 7.0]}


def written(path: Path, ends: bytes = b"\n", head: bytes = b"3 2\n") -> Path:
    rows = [word.encode() + b" " + np.array(v, "<f4").tobytes() + ends for word, v in VECTORS.items()]
    path.write_bytes(head + b"".join(rows))
    return path


@pytest.mark.parametrize("ends", [b"\n", b""], ids=["word2vec", "gensim"])
def test_only_wanted_words_of_the_file_are_read(tmp_path: Path, ends: bytes) -> None:
    found = read(written(tmp_path / "v.bin", ends), {"naïve", "New_York", "unheard"}, 2)
    assert {word: vector.tolist() for word, vector in found.items()} == {"naïve": [-3.5, 0.25], "New_York": [0, 7]}


def test_a_file_may_be_gzipped_as_google_gives_it_out(tmp_path: Path) -> None:
    plain = written(tmp_path / "v.bin")
    packed = tmp_path / "v.bin.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(packed, {"New_York"}, 2)["New_York"].tolist() == [0, 7]
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(DatasetCorrupt, match=r"v\.bin\.gz cannot be read: .*; download it again"):
        read(packed, {"New_York"}, 2)


@pytest.mark.parametrize("head", [b"3 5\n", b"three 2\n", b"\n", b"<html>\n"])
def test_wrong_header_is_refused(tmp_path: Path, head: bytes) -> None:
    with pytest.raises(DatasetCorrupt, match=r"v\.bin, line 1: expected the number of words and 2, received"):
        read(written(tmp_path / "v.bin", head=head), VECTORS, 2)


@pytest.mark.parametrize(("cut", "word"), [(1, 3), (12, 3), (25, 2)])
def test_truncated_file_is_refused(tmp_path: Path, cut: int, word: int) -> None:
    path = written(tmp_path / "v.bin", b"")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DatasetCorrupt, match=f"expected 3 words, it breaks off at word {word}; download it again"):
        read(path, VECTORS, 2)


def test_a_text_file_is_refused(tmp_path: Path) -> None:
    """A text file has the first line of the binary format, but each word takes more bytes."""
    path = tmp_path / "v.bin"
    path.write_text("".join(["3 2\n", *(f"{word} {v[0]:.6f} {v[1]:.6f}\n" for word, v in VECTORS.items())]))
    with pytest.raises(DatasetCorrupt, match=r"v\.bin"):
        read(path, VECTORS, 2)


def test_content_after_the_last_word_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "v.bin")
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DatasetCorrupt, match=r"v\.bin goes on after 3 words"):
        read(path, VECTORS, 2)


def test_value_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "v.bin")
    path.write_bytes(path.read_bytes().replace(np.float32(7).tobytes(), np.float32(np.nan).tobytes()))
    with pytest.raises(DatasetCorrupt, match=r"v\.bin, word 3: expected finite numbers"):
        read(path, VECTORS, 2)

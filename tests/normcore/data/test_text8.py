"""text8 and its beginning are read as one byte per symbol, in contiguous splits."""

import gzip
import hashlib
from pathlib import Path

import pytest
import torch
from torch import Tensor

from normcore.data import text8
from normcore.data.registry import DATASETS, DataFile, Dataset, DatasetCorrupt

TEXT = (b" the quick brown fox jumps over the lazy dog" * 30_000)[: 1 << 20] + b" end"  # more than one piece
SPLIT = (1_000_000, 1_040_000)


def toy(content: bytes = TEXT) -> Dataset:
    file = DataFile("tiny", hashlib.sha256(content).hexdigest(), len(content))
    return Dataset("toy", "", "", "", "", (file,), stored_in="texts")


def put(folder: Path, name: str, content: bytes) -> None:
    (folder / "texts").mkdir()
    (folder / "texts" / name).write_bytes(content)


def written(numbers: Tensor) -> bytes:
    return "".join(text8.SYMBOLS[i] for i in numbers.tolist()).encode()


@pytest.mark.parametrize(("name", "pack"), [("tiny", bytes), ("tiny.gz", gzip.compress)])
def test_the_splits_together_are_the_text(tmp_path: Path, name: str, pack: object) -> None:
    assert callable(pack)
    put(tmp_path, name, pack(TEXT))
    corpus = text8.read(toy(), SPLIT, tmp_path)
    parts = (corpus.train, corpus.valid, corpus.test)
    assert b"".join(map(written, parts)) == TEXT
    assert [len(part) for part in parts] == [1_000_000, 40_000, len(TEXT) - 1_040_000]
    assert {part.dtype for part in parts} == {torch.uint8}
    assert len({part.untyped_storage().data_ptr() for part in parts}) == 1
    assert corpus.checksums == {"toy/tiny": hashlib.sha256(TEXT).hexdigest()}


def test_the_alphabet_is_space_and_the_letters_in_their_order() -> None:
    assert text8.SYMBOLS == " abcdefghijklmnopqrstuvwxyz"
    assert b" az".translate(text8.NUMBERS) == bytes([0, 1, 26])
    assert set(bytes(range(256)).translate(text8.NUMBERS)) == {*range(27), text8.UNKNOWN}


def test_text_that_is_not_official_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "tiny", TEXT[:-1] + b"D")
    with pytest.raises(DatasetCorrupt, match=r"data set 'toy': .*texts/tiny is not the genuine .*; replace it by a"):
        text8.read(toy(), SPLIT, tmp_path)


def test_registered_text_with_other_symbols_fails_an_assertion(tmp_path: Path) -> None:
    content = TEXT + b"\n"
    put(tmp_path, "tiny", content)
    with pytest.raises(AssertionError):
        text8.read(toy(content), SPLIT, tmp_path)


def test_the_official_text_is_split_as_usual() -> None:
    (file,) = DATASETS["text8"].files
    assert text8.TEXT8_SPLIT == (90_000_000, 95_000_000)
    assert file.size == 100_000_000


def test_real_beginning_of_text8_is_split_as_expected(datasets_dir: Path) -> None:
    corpus = text8.text8_prefix(datasets_dir)
    assert [len(part) for part in (corpus.train, corpus.valid, corpus.test)] == [6_200_000, 340_000, 337_825]
    assert written(corpus.train[:40]) == b" anarchism originated as a term of abuse"
    assert set(corpus.valid.tolist()) == set(range(27))

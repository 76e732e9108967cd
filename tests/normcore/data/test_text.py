"""Texts are converted to numbers and back, in contiguous splits."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from normcore.data import text
from normcore.data.registry import DatasetCorrupt
from normcore.spec.tasks.char_lm import CharLM


def read(numbers: Tensor, symbols: str) -> str:
    return "".join(symbols[i] for i in numbers.tolist())


@given(st.text(st.characters(codec="utf-8"), min_size=200, max_size=500))
def test_the_splits_together_are_the_text(written: str) -> None:
    corpus = text.split(written, {"t": ""})
    assert "".join(read(part, corpus.symbols) for part in (corpus.train, corpus.valid, corpus.test)) == written
    assert len(corpus.train) == len(written) * 90 // 100
    assert abs(len(corpus.valid) - len(corpus.test)) <= 1
    assert corpus.symbols == "".join(sorted(set(written)))


def test_pydoc_is_pythons_documentation() -> None:
    corpus = text.pydoc()
    assert read(corpus.train[:200], corpus.symbols).startswith('The "assert" statement')
    total = len(corpus.train) + len(corpus.valid) + len(corpus.test)
    assert total > 400_000
    (name,) = corpus.checksums
    assert name.startswith("pydoc 3.")


def test_a_users_text_is_read_plain_or_compressed(tmp_path: Path) -> None:
    content = ("Grüße, 世界! " * 40).encode()
    (tmp_path / "plain.txt").write_bytes(content)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content))
    sha256 = hashlib.sha256(content).hexdigest()
    for name in ("plain.txt", "packed.gz"):
        corpus = text.load(CharLM(corpus="file", file=name, sha256=sha256), tmp_path)
        assert read(corpus.train[:10], corpus.symbols) == "Grüße, 世界!"
        assert corpus.checksums == {name: sha256}


def test_unusable_text_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_bytes(b"x" * 5000)
    with pytest.raises(DatasetCorrupt, match=r"'mine\.txt' has one character, over and over; use a") as caught:
        text.load(CharLM(corpus="file", file="mine.txt"), tmp_path)
    assert caught.value.field == ("task", "file")


def test_text_that_changed_since_it_was_pinned_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_bytes(b"ab" * 200)
    pinned = CharLM(corpus="file", file="mine.txt", sha256=hashlib.sha256(b"ba" * 200).hexdigest())
    with pytest.raises(DatasetCorrupt, match=f"and the spec asks for {pinned.sha256}") as caught:
        text.load(pinned, tmp_path)
    assert caught.value.field == ("task", "sha256")


def test_penn_treebank_has_the_character_counts_of_the_authors(datasets_dir: Path) -> None:
    corpus = text.ptb(datasets_dir)
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (5_059_550, 396_412, 446_184)
    assert len(corpus.symbols) == 50
    assert read(corpus.test[:25], corpus.symbols) == "\nno_it_was_n't_black_mond"
    assert len(corpus.checksums) == 3

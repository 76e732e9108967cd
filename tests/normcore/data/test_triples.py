"""Sentences become numbers. Three short consecutive sentences of one run are an example."""

from pathlib import Path

import pytest

from normcore.data import triples
from normcore.data.registry import DatasetCorrupt, DatasetMissing
from normcore.data.triples import SHORTER_THAN, UNKNOWN


def book_corpus(folder: Path, first: list[str], second: list[str]) -> Path:
    (folder / "bookcorpus").mkdir()
    for name, lines in (("books_large_p1.txt", first), ("books_large_p2.txt", second)):
        (folder / "bookcorpus" / name).write_text("\n".join(lines))
    return folder


def numbered(count: int) -> list[str]:
    return [f"Word{k % 7} said {k} ." for k in range(count)]


def test_bookcorpus_is_read_sentence_by_sentence(tmp_path: Path) -> None:
    """The last of twenty runs of a hundred sentences is for validation. All sentences of a triple are of one run."""
    found = triples.load("bookcorpus", book_corpus(tmp_path, numbered(2000), ["x ."] * 3), 6)
    assert found.words == ["<eos>", "UNK", ".", "said", "word0", "word1"]
    assert len(found.train.middles) == 19 * 98 + 1
    assert len(found.valid.middles) == 98
    assert found.train.sentence(0).tolist() == [4, 3, UNKNOWN, 2]
    assert found.train.sentence(1).tolist() == [5, 3, UNKNOWN, 2]
    assert found.train.middles[:2].tolist() == [1, 2]
    assert found.train.middles[97:99].tolist() == [98, 101]
    assert sorted(set(found.train.lengths.tolist())) == [2, 4]
    assert list(found.checksums) == ["bookcorpus/books_large_p1.txt", "bookcorpus/books_large_p2.txt"]


def test_a_long_sentence_is_in_no_triple(tmp_path: Path) -> None:
    lines = numbered(2000)
    lines[50] = " ".join(["word"] * SHORTER_THAN)
    found = triples.load("bookcorpus", book_corpus(tmp_path, lines, []), 100)
    assert not {49, 50, 51} & set(found.train.middles.tolist())
    assert {48, 52} <= set(found.train.middles.tolist())


def test_missing_and_unusable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetMissing, match=r"books_large_p1\.txt is not in .*bookcorpus"):
        triples.load("bookcorpus", tmp_path, 10)
    folder = book_corpus(tmp_path, [], [])
    with pytest.raises(
        DatasetCorrupt, match="bookcorpus has too few sentences of fewer than 30 words; download it again"
    ):
        triples.load("bookcorpus", folder, 10)
    (folder / "bookcorpus" / "books_large_p1.txt").write_text("\n".join(numbered(3)))
    with pytest.raises(
        DatasetCorrupt, match="bookcorpus has too few sentences of fewer than 30 words; download it again"
    ):
        triples.load("bookcorpus", folder, 10)
    for end in (b"\n", b""):
        (folder / "bookcorpus" / "books_large_p2.txt").write_bytes(b"fine\n\xff" + end)
        with pytest.raises(DatasetCorrupt, match=r"books_large_p2\.txt, line 2: no UTF-8 \(invalid start byte\)"):
            triples.load("bookcorpus", folder, 10)


def test_novels_give_the_expected_triples(datasets_dir: Path) -> None:
    found = triples.load("gutenberg_books", datasets_dir, 4000)
    assert len(found.words) == 4000
    assert 50_000 < len(found.train.middles) < 150_000
    assert 15 < len(found.train.middles) / len(found.valid.middles) < 25
    assert found.train.lengths.max() < SHORTER_THAN
    assert found.train.codes.max() == 3999

"""Captions and features are read in their official formats, and errors in the files are named."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normcore.data import captions
from normcore.data.captions import parse_karpathy, parse_token_file, read_features
from normcore.data.registry import DatasetCorrupt

SPLITS = ("train", "val", "restval", "test")


def image(k: int, **other: Any) -> dict[str, Any]:
    said = [{"tokens": ["a", f"cat{k}", str(n)], "raw": "A cat."} for n in range(6)]
    return {"split": SPLITS[k], "sentences": said, "filename": f"{k}.jpg", **other}


def karpathy(**other: Any) -> bytes:
    return json.dumps({"dataset": "coco", "images": [image(k, **(other if k == 2 else {})) for k in range(4)]}).encode()


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def headed(header: str, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode()


def shaped(shape: str, dtype: str = "<f4") -> bytes:
    return headed(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}\n")


def test_karpathy_file_is_split_with_its_features() -> None:
    features = torch.arange(8.0).view(4, 2)
    parts = parse_karpathy(karpathy(), "dataset_coco.json", features)
    assert {split: part.features.tolist() for split, part in parts.items()} == {
        "train": [[0, 1], [4, 5]],
        "valid": [[2, 3]],
        "test": [[6, 7]],
    }
    assert parts["train"].captions[1] == [["a", "cat2", str(n)] for n in range(5)]
    first = parts["train"].first(1)
    assert (len(first), first.features.tolist()) == (1, [[0, 1]])
    assert parts["train"].first(None) is parts["train"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"split": "dev"}, "image 2: expected a split and sentences with tokens"),
        ({"sentences": [{"raw": "A cat."}]}, "image 2: expected a split and sentences with tokens"),
        *(
            ({"sentences": [{"tokens": tokens}] * 5}, "image 2: expected a split and .*, no list of words")
            for tokens in ("a dog", [1], ["a", None], [""], {"a": 1}, ["\ud800"])
        ),
        ({"sentences": [{"tokens": ["a"]}] * 4}, "image 2: expected 5 captions of a word or more, received 4"),
        ({"sentences": [{"tokens": []}] * 5}, "image 2: expected 5 captions of a word or more"),
    ],
)
def test_error_in_an_image_is_named(other: dict[str, Any], message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=f"^d.json, {message}.*; download it again$"):
        parse_karpathy(karpathy(**other), "d.json", torch.zeros(4, 2))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "d.json: expected an object with images"),
        (b"[]", "d.json: expected an object with images"),
        (b'{"images": 3}', "d.json: expected an object with images"),
        (b'{"images": ' + 100_000 * b"[", "d.json: expected an object with images"),
        (
            karpathy(),
            "d.json has 4 images, but the features file has 3 rows; convert the features of these images in their"
            " order by examples/features",
        ),
    ],
)
def test_error_in_a_file_of_captions_is_named(content: bytes, message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=message):
        parse_karpathy(content, "d.json", torch.zeros(3, 2))


def test_a_split_without_an_image_is_named() -> None:
    with pytest.raises(DatasetCorrupt, match=r"^d\.json has no image of the test split"):
        parse_karpathy(json.dumps({"images": [image(k) for k in range(3)]}).encode(), "d.json", torch.zeros(3, 2))


def test_features_are_numbers_of_the_right_width() -> None:
    found = read_features([npy(np.arange(6, dtype=np.float64).reshape(3, 2))], "f.npy", 2)
    assert (found.dtype, found.tolist()) == (torch.float32, [[0, 1], [2, 3], [4, 5]])
    columns_first = read_features([npy(np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2)))], "f.npy", 2)
    assert torch.equal(columns_first, found)


def test_a_file_that_is_longer_than_its_header_says_is_not_read_to_its_end() -> None:
    """A file with rows of another width is not read to its end, either: it may be ten times as large."""
    read: list[int] = []

    def chunks(width: int) -> Iterator[bytes]:
        begin = npy(np.zeros((10_000, width), np.float32))
        for k in range(0, 100_000_000, 50_000):
            read.append(k)
            yield bytes(begin[k : k + 50_000]).ljust(50_000, b"!")

    for width, message in ((2, "expected 80,128 bytes, as its header says"), (3, r"received \(10000, 3\)")):
        with pytest.raises(DatasetCorrupt, match=message):
            read_features(chunks(width), "f.npy", 2)
    assert len(read) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.zeros((3, 5))), r"f.npy: expected features of shape \(images, 2\), received \(3, 5\)"),
        (npy(np.zeros(2)), r"received \(2,\)"),
        (npy(np.array([[0, 1], [2, np.nan]])), "f.npy, row 1: expected finite numbers"),
        (npy(np.array([{"a": 1}], dtype=object)), "f.npy is no npy file of numbers: .*convert it by examples/features"),
        (b"PK\x03\x04", "f.npy is no npy file of numbers"),
        (npy(np.zeros((3, 2)))[:-8], "f.npy: expected 176 bytes, as its header says, received 168"),
        (npy(np.zeros((3, 2))) + b"!", "f.npy: expected 176 bytes, as its header says, received 177"),
        (shaped("(99999999999999, 2)"), "f.npy: expected 800,000,000,000,0.. bytes, as its header says"),
        (shaped(f"({10**30}, 2)"), "f.npy: expected 8,000,000,000,.* bytes, as its header says"),
        (shaped("(-1, 2)"), "f.npy is no npy file of numbers: its shape is"),
        (shaped("(2, 3"), "f.npy is no npy file of numbers"),
        (shaped("(3, 2)", dtype="nonsense"), "f.npy is no npy file of numbers"),
        (headed(3000 * "((("), "f.npy is no npy file of numbers"),
        (headed("", version=b"\x09\x00"), "f.npy is no npy file of numbers: expected version 1 or 2"),
        (npy(np.array([["a", "b"]])), "f.npy is no npy file of numbers"),
    ],
)
def test_error_in_features_is_named(content: bytes, message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=message):
        read_features([content[:5], content[5:]], "f.npy", 2)


def test_captions_are_read_line_by_line() -> None:
    lines = [f"{k}.jpg#{n}\tA cat , sits {n} ." for k in (1, 2) for n in range(5)]
    said = parse_token_file("\n".join(lines), "t.txt")
    assert said == {f"{k}.jpg": [["a", "cat", "sits", str(n)] for n in range(5)] for k in (1, 2)}
    with pytest.raises(DatasetCorrupt, match=r"^t\.txt: expected 5 captions of 2\.jpg, received 4"):
        parse_token_file("\n".join(lines[:-1]), "t.txt")


@pytest.mark.parametrize("line", ["1.jpg#2\tA cat", "1.jpg#1 A cat", "1.jpg A cat", "1.jpg#1\t . "])
def test_error_in_a_line_is_named(line: str) -> None:
    with pytest.raises(DatasetCorrupt, match=r"^t\.txt, line 2: expected image#"):
        parse_token_file(f"1.jpg#0\tA dog\n{line}\n", "t.txt")


def test_flickr8k_is_read_with_its_features(datasets_dir: Path) -> None:
    found = captions.load("flickr8k_1000", datasets_dir)
    assert [len(part) for part in (found.train, found.valid, found.test)] == [800, 100, 100]
    assert {part.features.shape[1] for part in (found.train, found.valid, found.test)} == {1000}
    assert found.train.features.mean(1).abs().max() < 1e-3
    assert " ".join(found.train.captions[0][0]) == "the dogs are in the snow in front of a fence"

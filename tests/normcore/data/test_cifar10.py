"""CIFAR-10 is read from its official binary format and from the subset, and errors in a file are named."""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normcore.data import cifar10
from normcore.data.registry import DATASETS, DatasetCorrupt, status

NAMES = [file.name for file in DATASETS["cifar10"].files]


def batch(k: int, images: int = 20) -> bytes:
    """Small file in the official format. Image i has label i + k and the values k, 100 + k and 200 + k by channel."""
    pixels = bytes([k]) * 1024 + bytes([100 + k]) * 1024 + bytes([200 + k]) * 1024
    return b"".join(bytes([(i + k) % 10]) + pixels for i in range(images))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data sets' directory with six small files in the official format, registered as CIFAR-10."""
    folder = tmp_path / "cifar10"
    folder.mkdir()
    for k, name in enumerate(NAMES):
        (folder / name).write_bytes(batch(k))
    files = tuple(
        replace(file, size=20 * cifar10.RECORD, sha256=hashlib.sha256(batch(k)).hexdigest())
        for k, file in enumerate(DATASETS["cifar10"].files)
    )
    monkeypatch.setitem(DATASETS, "cifar10", replace(DATASETS["cifar10"], files=files))
    monkeypatch.setattr(cifar10, "VALID", 30)
    return tmp_path


def test_last_images_of_the_five_training_files_are_for_validation(small: Path) -> None:
    splits = cifar10.load(small)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [70, 30, 20]
    assert splits.train.pixels[:, 0].tolist() == [0] * 20 + [1] * 20 + [2] * 20 + [3] * 10
    assert splits.valid.pixels[:, 0].tolist() == [3] * 10 + [4] * 20
    assert splits.test.pixels[:, 0].tolist() == [5] * 20
    assert splits.valid.labels[:4].tolist() == [3, 4, 5, 6]
    assert splits.test.labels[:6].tolist() == [5, 6, 7, 8, 9, 0]
    assert len(splits.checksums) == 6


def test_images_are_channel_first(small: Path) -> None:
    splits = cifar10.load(small)
    x = splits.train[25:26].images(torch.float64)
    assert x.shape == (1, 3, 32, 32)
    assert [set(x[0, channel].flatten().tolist()) for channel in range(3)] == [{1 / 255}, {101 / 255}, {201 / 255}]


def test_the_official_split_is_45000_5000_10000() -> None:
    """The sizes follow from files of 10,000 images."""
    assert {file.size for file in DATASETS["cifar10"].files} == {10_000 * cifar10.RECORD}
    assert [*cifar10.TRAINING_FILES, cifar10.TEST_FILE] == NAMES
    assert 5 * 10_000 - cifar10.VALID == 45_000


def test_swapped_files_are_told_apart(small: Path) -> None:
    (small / "cifar10/data_batch_1.bin").write_bytes(batch(5))
    with pytest.raises(DatasetCorrupt, match=r"data_batch_1\.bin holds test_batch\.bin instead of data_batch_1\.bin"):
        cifar10.load(small)
    assert status(DATASETS["cifar10"], small) == "corrupt"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "f.bin has 0 bytes, which is not a whole number of records of 3,073"),
        (batch(0)[1:], "f.bin has 61,459 bytes, which is not a whole number"),
        (batch(0) + bytes([10]) + bytes(3072), "f.bin gives image 20 the label 10, expected 0 to 9"),
    ],
)
def test_invalid_records_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=message):
        cifar10.records(content, "f.bin")


GOOD = {
    "x_train": np.zeros((4, 3072), np.uint8),
    "y_train": np.arange(4, dtype=np.uint8),
    "x_test": np.ones((2, 3072), np.uint8),
    "y_test": np.array([9, 8], np.uint8),
}


def put_subset(folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    (file,) = DATASETS["cifar10_subset"].files
    file = replace(file, size=len(content), sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(DATASETS, "cifar10_subset", replace(DATASETS["cifar10_subset"], files=(file,)))
    monkeypatch.setattr(cifar10, "SUBSET_VALID", 1)
    (folder / "cifar10_subset").mkdir()
    (folder / "cifar10_subset" / file.name).write_bytes(content)


def npz(arrays: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def test_a_small_subset_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_subset(tmp_path, monkeypatch, npz(GOOD))
    splits = cifar10.load_subset(tmp_path)
    assert [part.labels.tolist() for part in (splits.train, splits.valid, splits.test)] == [[0, 1, 2], [3], [9, 8]]
    assert splits.test.labels.dtype == torch.int64


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x_train": np.zeros((4, 784), np.uint8)}, r"has images of uint8 \(4, 784\), expected uint8 \(N, 3072\)"),
        ({"x_train": np.zeros((4, 3, 32, 32), np.uint8)}, r"has images of uint8 \(4, 3, 32, 32\)"),
        ({"x_test": np.zeros((2, 3072))}, r"has images of float64 \(2, 3072\)"),
        ({"y_train": np.arange(5)}, r"has labels of int64 \(5,\), expected \(4,\) integers"),
        ({"y_train": np.zeros(4)}, r"has labels of float64 \(4,\)"),
        ({"y_test": np.array([0, 10])}, "gives image 1 the label 10, expected 0 to 9"),
        ({"y_test": np.array([-1, 0])}, "gives image 0 the label -1, expected 0 to 9"),
        ({"y_test": np.array([None, None])}, "cannot be read"),
    ],
)
def test_arrays_of_another_kind_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], message: str
) -> None:
    put_subset(tmp_path, monkeypatch, npz({**GOOD, **changed}))
    with pytest.raises(DatasetCorrupt, match=rf"cifar10_train10k_test1k\.npz {message}"):
        cifar10.load_subset(tmp_path)


@pytest.mark.parametrize("content", [npz({"x_train": GOOD["x_train"]}), npz(GOOD)[:-30], b"text"])
def test_an_archive_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    put_subset(tmp_path, monkeypatch, content)
    with pytest.raises(DatasetCorrupt, match=r"'cifar10_subset': cifar10_train10k_test1k\.npz cannot be read"):
        cifar10.load_subset(tmp_path)


def test_the_real_subset_is_the_beginning_of_cifar10(datasets_dir: Path, tmp_path: Path) -> None:
    """The training images of the subset, written in the official format, equal data_batch_1.bin bit for bit."""
    splits = cifar10.load_subset(datasets_dir)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [9_000, 1_000, 1_000]
    assert splits.train.labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert splits.train.pixels[0, [0, 1024, 2048]].tolist() == [59, 62, 63]
    labels = torch.cat([splits.train.labels, splits.valid.labels]).to(torch.uint8)
    pixels = torch.cat([splits.train.pixels, splits.valid.pixels])
    content = torch.cat([labels.unsqueeze(1), pixels], 1).numpy().tobytes()
    assert hashlib.sha256(content).hexdigest() == DATASETS["cifar10"].file("data_batch_1.bin").sha256
    read = cifar10.records(content, "data_batch_1.bin")
    assert torch.equal(read.pixels, pixels)
    assert torch.equal(read.labels, labels.long())

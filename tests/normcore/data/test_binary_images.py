"""Binary images are read from the official text files, from the packed file and from the digits."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from normcore.data import binary_images, digits
from normcore.data.binary_images import BinaryImages, parse_amat
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums

LINES = b"0 1 0 0\n1 1 0 1\n"


def test_each_line_is_an_image() -> None:
    assert parse_amat(LINES, 2, "some.amat").tolist() == [[[0, 1], [0, 0]], [[1, 1], [0, 1]]]


@pytest.mark.parametrize("line", [b"0 1 0", b"0 1 0 2", b"0 1 0 0 1", b"", b"0 1 0 -1", b"0.0 1 0 0", b"0 01 0 0"])
def test_invalid_line_is_named(line: bytes) -> None:
    with pytest.raises(DatasetCorrupt, match=r"some.amat, line 2: expected 4 pixels that are 0 or 1"):
        parse_amat(b"0 1 0 0\n" + line + b"\n", 2, "some.amat")


def test_a_file_without_images_is_named() -> None:
    with pytest.raises(DatasetCorrupt, match=r"some.amat: expected an image on each line, received none"):
        parse_amat(b"", 2, "some.amat")


def test_the_three_official_files_are_the_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Small files in the official format are registered in place of the official files."""
    request.addfinalizer(checksums.cache_clear)  # digests are cached by name
    random = np.random.RandomState(0)
    expected, files = {}, []
    (tmp_path / "binarized_mnist").mkdir()
    for file, count in zip(DATASETS["binarized_mnist"].files, (5, 3, 2), strict=True):
        expected[file.name] = random.randint(0, 2, (count, 28, 28))
        text = b"".join(b" ".join(b"%d" % pixel for pixel in image.ravel()) + b"\n" for image in expected[file.name])
        assert len(text) == count * 1568
        (tmp_path / "binarized_mnist" / f"{file.name}.gz").write_bytes(gzip.compress(text))
        files.append(replace(file, size=len(text), sha256=hashlib.sha256(text).hexdigest()))
    monkeypatch.setitem(DATASETS, "binarized_mnist", replace(DATASETS["binarized_mnist"], files=tuple(files)))
    read = binary_images.load("binarized_mnist", tmp_path)
    for part, images in zip((read.train, read.valid, read.test), expected.values(), strict=True):
        assert torch.equal(part, torch.from_numpy(images).to(torch.uint8))


def test_the_packed_file_written_out_is_the_official_text(datasets_dir: Path) -> None:
    images = binary_images.load("mnist_bits", datasets_dir)
    for part, file in zip((images.train, images.valid, images.test), DATASETS["binarized_mnist"].files, strict=True):
        text = np.full((len(part), 1568), ord(" "), np.uint8)
        text[:, ::2] = part.numpy().reshape(len(part), -1) + ord("0")
        text[:, -1] = ord("\n")
        assert hashlib.sha256(text.tobytes()).hexdigest() == file.sha256


def test_pixel_of_a_digit_is_1_from_the_middle_grey_level_on() -> None:
    images, grey = binary_images.load("digits", None), digits.load()
    assert [len(part) for part in (images.train, images.valid, images.test)] == [1197, 300, 300]
    assert torch.equal(images.test.flatten(1), (grey.test.pixels >= 8).to(torch.uint8))
    assert images.train.shape[1:] == (8, 8)


def test_subset_of_images_is_evenly_spaced() -> None:
    numbers = torch.arange(10).view(-1, 1, 1)
    some = BinaryImages(numbers, numbers, numbers[:4], {}).spread(5)
    assert len(some.train) == 10
    assert some.valid.flatten().tolist() == [0, 2, 4, 6, 8]
    assert some.test.flatten().tolist() == [0, 1, 2, 3]

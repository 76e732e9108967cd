"""CIFAR-10: colour images of 32x32 pixels, three channels (red, green, blue) of 1,024 bytes each, and labels 0 to 9.

The official binary version has five files for training and one for testing, of 10,000 records each: one byte for the
label, then the image, channel by channel. The subset is a NumPy archive with the same bytes in arrays.
"""

import io
import zipfile
from pathlib import Path

import numpy as np
import torch

from normcore.data.images import ImageSplits, LabelledImages
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, read_bytes

WHITE = 255
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32  # bytes of an image
RECORD = 1 + PIXELS  # bytes
CLASSES = 10
TRAINING_FILES = tuple(f"data_batch_{k}.bin" for k in range(1, 6))
TEST_FILE = "test_batch.bin"
SUBSET_FILE = "cifar10_train10k_test1k.npz"
VALID, SUBSET_VALID = 5_000, 1_000  # images that validate: the last of the training images


def load(datasets_dir: Path | None) -> ImageSplits:
    """Read the official files: 45,000 images train, 5,000 validate, 10,000 test.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or is not the official file.
    """
    parts = [_records(name, datasets_dir) for name in TRAINING_FILES]
    pixels, labels = torch.cat([part.pixels for part in parts]), torch.cat([part.labels for part in parts])
    images = LabelledImages(pixels, labels, WHITE, SHAPE)
    return _splits(images, VALID, _records(TEST_FILE, datasets_dir), "cifar10")


def load_subset(datasets_dir: Path | None) -> ImageSplits:
    """Read the subset: 9,000 images train, 1,000 validate, 1,000 test.

    Raises:
        DatasetMissing, DatasetCorrupt: the file is not there, or is not the right file.
    """
    content = read_bytes(DATASETS["cifar10_subset"], SUBSET_FILE, datasets_dir)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            train = label_images(arrays["x_train"], arrays["y_train"], SUBSET_FILE)
            test = label_images(arrays["x_test"], arrays["y_test"], SUBSET_FILE)
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DatasetCorrupt(f"data set 'cifar10_subset': {SUBSET_FILE} cannot be read: {error}") from error
    return _splits(train, SUBSET_VALID, test, "cifar10_subset")


def records(content: bytes, name: str) -> LabelledImages:
    """Parse the content of a file in the official binary format into labelled images.

    Raises:
        DatasetCorrupt: the content is not a whole number of records, or has a label above 9.
    """
    if not content or len(content) % RECORD:
        raise DatasetCorrupt(f"{name} has {len(content):,} bytes, which is not a whole number of records of {RECORD:,}")
    table = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    return label_images(table[:, 1:], table[:, 0], name)


def label_images(pixels: np.ndarray, labels: np.ndarray, name: str) -> LabelledImages:
    """Check and copy images and their labels.

    Args:
        pixels: (N, 3072) uint8.
        labels: (N,) integers.

    Raises:
        DatasetCorrupt: the arrays have other shapes or types, or there is a label outside 0 to 9.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != PIXELS:
        found = f"{pixels.dtype} {pixels.shape}"
        raise DatasetCorrupt(f"{name} has images of {found}, expected uint8 (N, {PIXELS}); download it again")
    if labels.shape != (len(pixels),) or not np.issubdtype(labels.dtype, np.integer):
        found = f"{labels.dtype} {labels.shape}"
        raise DatasetCorrupt(f"{name} has labels of {found}, expected ({len(pixels)},) integers; download it again")
    wrong = np.flatnonzero((labels < 0) | (labels >= CLASSES))
    if len(wrong):
        raise DatasetCorrupt(
            f"{name} gives image {wrong[0]:,} the label {labels[wrong[0]]}, expected 0 to {CLASSES - 1}"
        )
    return LabelledImages(torch.from_numpy(pixels.copy()), torch.from_numpy(labels.astype(np.int64)), WHITE, SHAPE)


def _records(name: str, datasets_dir: Path | None) -> LabelledImages:
    return records(read_bytes(DATASETS["cifar10"], name, datasets_dir), name)


def _splits(images: LabelledImages, valid: int, test: LabelledImages, name: str) -> ImageSplits:
    return ImageSplits(images[:-valid], images[-valid:], test, dict(checksums(name)))

"""MNIST: 28x28 images, grey levels 0 to 255.

The 10,000 test images are the test split. ``SPLITS`` says which of the 60,000 training images train, and which
validate.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from normcore.data.images import ImageSplits, LabelledImages
from normcore.data.registry import DATASETS, checksums, read_bytes

WHITE = 255
SHAPE = (1, 28, 28)
IMAGES_HEADER, LABELS_HEADER = 16, 8  # bytes: a magic number and one number for each dimension

Split = Literal["last_10000_validate", "first_5000_validate"]
SPLITS: Mapping[Split, tuple[slice, slice]] = {
    "last_10000_validate": (slice(50_000), slice(50_000, None)),
    "first_5000_validate": (slice(5_000, None), slice(5_000)),
}
"""Training images and validation images of each split. ``last_10000_validate`` is the split of the RBN authors' code;
their paper does not state it. ``first_5000_validate`` is the split of TensorFlow's MNIST tutorials: 55,000 images
train."""


def load(datasets_dir: Path | None, split: Split = "last_10000_validate") -> ImageSplits:
    """Read and split MNIST.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or is not the official file.
    """
    images, test = _read("train", datasets_dir), _read("t10k", datasets_dir)
    train, valid = SPLITS[split]
    return ImageSplits(images[train], images[valid], test, dict(checksums("mnist")))


def _read(part: str, datasets_dir: Path | None) -> LabelledImages:
    pixels = _numbers(f"{part}-images-idx3-ubyte", IMAGES_HEADER, datasets_dir).reshape(-1, SHAPE[1] * SHAPE[2])
    labels = _numbers(f"{part}-labels-idx1-ubyte", LABELS_HEADER, datasets_dir).long()
    return LabelledImages(pixels, labels, WHITE, SHAPE)


def _numbers(name: str, header: int, datasets_dir: Path | None) -> Tensor:
    content = read_bytes(DATASETS["mnist"], name, datasets_dir)
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=header).copy())

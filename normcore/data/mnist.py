"""MNIST: 28x28 images, grey levels 0 to 255.

The first 50,000 training images train, the last 10,000 validate, the 10,000 test images test: the split of the RBN
authors' code, which their text does not state.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data.images import ImageSplits, LabelledImages
from normcore.data.registry import DATASETS, read_bytes

WHITE = 255
TRAIN = 50_000
IMAGES_HEADER, LABELS_HEADER = 16, 8  # bytes: a magic number and one number for each dimension
SIDE = 28


def load(datasets_dir: Path | None) -> ImageSplits:
    """Read and split MNIST.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not the official one.
    """
    train, test = _read("train", datasets_dir), _read("t10k", datasets_dir)
    checksums = {f"mnist/{file.name}": file.sha256 for file in DATASETS["mnist"].files}
    return ImageSplits(train[:TRAIN], train[TRAIN:], test, checksums)


def _read(part: str, datasets_dir: Path | None) -> LabelledImages:
    pixels = _numbers(f"{part}-images-idx3-ubyte", IMAGES_HEADER, datasets_dir).reshape(-1, SIDE * SIDE)
    labels = _numbers(f"{part}-labels-idx1-ubyte", LABELS_HEADER, datasets_dir).long()
    return LabelledImages(pixels, labels, WHITE)


def _numbers(name: str, header: int, datasets_dir: Path | None) -> Tensor:
    content = read_bytes(DATASETS["mnist"], name, datasets_dir)
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=header).copy())

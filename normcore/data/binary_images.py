"""Images of pixels that are 0 or 1, without labels.

Shapes: N images of S x S pixels.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data import digits
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, read_bytes

PARTS = ("train", "valid", "test")
MNIST_SIDE = 28
PACKED_FILE = "binarized_mnist_packed.npz"
DARK = 8  # the digits have grey levels 0 to 16; a pixel of 8 or more becomes 1


@dataclass(frozen=True, slots=True)
class BinaryImages:
    """Images (N, S, S), uint8, in three splits, and the digests of the files that they were read from."""

    train: Tensor
    valid: Tensor
    test: Tensor
    checksums: Mapping[str, str]

    def spread(self, examples: int) -> "BinaryImages":
        """Limit the validation and the test images to ``examples`` each, spread evenly from first to last, because
        MNIST's test images are sorted by class.
        """
        return replace(
            self, valid=_pick_spread_images(self.valid, examples), test=_pick_spread_images(self.test, examples)
        )


def load(name: str, datasets_dir: Path | None) -> BinaryImages:
    """Read and split the data set ``binarized_mnist``, ``mnist_bits`` or ``digits``.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or is not the official file.
    """
    if name == "digits":
        splits = digits.load()
        side = digits.SHAPE[1]
        parts = (splits.train, splits.valid, splits.test)
        train, valid, test = ((part.pixels >= DARK).to(torch.uint8).reshape(-1, side, side) for part in parts)
        return BinaryImages(train, valid, test, splits.checksums)
    if name == "binarized_mnist":
        train, valid, test = (
            parse_amat(read_bytes(DATASETS[name], file, datasets_dir), MNIST_SIDE, file)
            for file in (f"binarized_mnist_{part}.amat" for part in PARTS)
        )
    else:
        train, valid, test = _unpack_splits(read_bytes(DATASETS[name], PACKED_FILE, datasets_dir))
    return BinaryImages(train, valid, test, dict(checksums(name)))


def parse_amat(text: bytes, side: int, name: str) -> Tensor:
    """Parse a text file into images (N, S, S). Each line is an image: its pixels, 0 or 1, with blanks between them.

    Raises:
        DatasetCorrupt: a line is not such an image (the message has the line's number), or the file has no line.
    """
    images = []
    for number, line in enumerate(text.splitlines(), 1):
        pixels = line.split()
        if len(pixels) != side * side or not set(pixels) <= {b"0", b"1"}:
            raise DatasetCorrupt(
                f"{name}, line {number}: expected {side * side} pixels that are 0 or 1, received {len(pixels)} words;"
                " download the file again"
            )
        images.append(np.frombuffer(b"".join(pixels), np.uint8) - ord("0"))
    if not images:
        raise DatasetCorrupt(f"{name}: expected an image on each line, received none; download the file again")
    return torch.from_numpy(np.stack(images).reshape(-1, side, side))


def _unpack_splits(content: bytes) -> list[Tensor]:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return [
            torch.from_numpy(np.unpackbits(archive[part], axis=1).reshape(-1, MNIST_SIDE, MNIST_SIDE)) for part in PARTS
        ]


def _pick_spread_images(images: Tensor, examples: int) -> Tensor:
    return images if len(images) <= examples else images[torch.arange(examples) * len(images) // examples]

"""Labelled images as sequences of pixels.

T is the number of pixels of an image, B of images in a batch, N of images in all.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """Images and their labels.

    Attributes:
        pixels: (N, T) uint8, each image from top left to bottom right.
        labels: (N,) int64.
        white: the value of the brightest pixel, which becomes 1.
    """

    pixels: Tensor
    labels: Tensor
    white: int

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, part: slice | Tensor) -> "LabelledImages":
        return LabelledImages(self.pixels[part], self.labels[part], self.white)

    def in_order(self, order: Tensor) -> "LabelledImages":
        """The same images with pixel ``order[t]`` at step t."""
        return LabelledImages(self.pixels[:, order], self.labels, self.white)

    def to(self, device: torch.device) -> "LabelledImages":
        return LabelledImages(self.pixels.to(device), self.labels.to(device), self.white)

    def sequences(self, dtype: torch.dtype) -> Tensor:
        """All images, time-major: (T, N, 1) in [0, 1]."""
        return (self.pixels.T.to(dtype) / self.white).unsqueeze(-1)


@dataclass(frozen=True, slots=True)
class ImageSplits:
    """A data set of images, and the digests of what it was read from."""

    train: LabelledImages
    valid: LabelledImages
    test: LabelledImages
    checksums: dict[str, str]

"""Labelled images, to be read as images or as sequences of pixels.

Shapes: N images of C channels, H x W pixels each, C * H * W numbers. Images of one channel are sequences of T = H * W
steps.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class LabelledImages:
    """Images and their labels.

    Attributes:
        pixels: (N, C * H * W) uint8, each image channel by channel, each channel from top left to bottom right.
        labels: (N,) int64.
        white: the value of the brightest pixel; pixels are divided by it.
        shape: shape (C, H, W) of an image.
    """

    pixels: Tensor
    labels: Tensor
    white: int
    shape: tuple[int, int, int]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, part: slice | Tensor) -> "LabelledImages":
        return replace(self, pixels=self.pixels[part], labels=self.labels[part])

    def in_order(self, order: Tensor) -> "LabelledImages":
        """Reorder the pixels: step t of the sequence is pixel ``order[t]``."""
        return replace(self, pixels=self.pixels[:, order])

    def to(self, device: torch.device) -> "LabelledImages":
        return replace(self, pixels=self.pixels.to(device), labels=self.labels.to(device))

    def sequences(self, dtype: torch.dtype) -> Tensor:
        """All images as sequences of pixels, time-major: (T, N, 1) in [0, 1].

        Raises:
            ValueError: the images have more than one channel.
        """
        if self.shape[0] != 1:
            raise ValueError(
                f"expected images of 1 channel to read one pixel a step, received {self.shape[0]} channels"
            )
        return (self.pixels.T.to(dtype) / self.white).unsqueeze(-1)

    def images(self, dtype: torch.dtype) -> Tensor:
        """All images: (N, C, H, W) in [0, 1]."""
        return (self.pixels.to(dtype) / self.white).reshape(-1, *self.shape)


@dataclass(frozen=True, slots=True)
class ImageSplits:
    """A data set of labelled images in three splits, and the digests of the files that it was read from."""

    train: LabelledImages
    valid: LabelledImages
    test: LabelledImages
    checksums: dict[str, str]

    def first(self, examples: int) -> "ImageSplits":
        """Limit each split to its first ``examples`` images."""
        return ImageSplits(self.train[:examples], self.valid[:examples], self.test[:examples], self.checksums)

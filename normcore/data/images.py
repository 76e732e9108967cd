"""Labelled images, as they are and as sequences of pixels.

N images of C channels, H x W pixels each, which are C * H * W numbers; T = H * W steps where there is one channel.
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
        white: the value of the brightest pixel, which becomes 1.
        shape: (C, H, W) of an image.
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
        """Reorder the pixels: step t has pixel ``order[t]``."""
        return replace(self, pixels=self.pixels[:, order])

    def to(self, device: torch.device) -> "LabelledImages":
        return replace(self, pixels=self.pixels.to(device), labels=self.labels.to(device))

    def sequences(self, dtype: torch.dtype) -> Tensor:
        """All images, time-major: (T, N, 1) in [0, 1].

        Raises:
            ValueError: they have more than one channel.
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
    """A data set of images, and the digests of what it was read from."""

    train: LabelledImages
    valid: LabelledImages
    test: LabelledImages
    checksums: dict[str, str]

    def first(self, examples: int) -> "ImageSplits":
        """The first so many images of each split."""
        return ImageSplits(self.train[:examples], self.valid[:examples], self.test[:examples], self.checksums)

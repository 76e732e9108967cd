"""ZCA whitening: Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images", appendix A.

Shapes: N images of D numbers each.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from normcore.data.images import LabelledImages

REGULARIZATION = 1e-5  # added to the eigenvalues, as in the code of Salimans and Kingma 2016, for pixels in [-1, 1]
PIECE = 5000  # images in one matrix product


@dataclass(frozen=True, slots=True)
class Whitening:
    """ZCA whitening: x -> (x - mean) W with W = U diag(1 / sqrt(S + 1e-5)) U', where U S U' is the images' covariance.

    Attributes:
        mean: mean image (D).
        matrix: W (D, D).
    """

    mean: Tensor
    matrix: Tensor

    @classmethod
    def fit_to_images(cls, images: LabelledImages) -> Self:
        """Fit the whitening to ``images``, in float64, ``PIECE`` images at a time."""
        size = images.pixels.shape[1]
        total = torch.zeros(size, dtype=torch.float64)
        products = torch.zeros(size, size, dtype=torch.float64)
        for start in range(0, len(images), PIECE):
            x = _centre_pixels(images[start : start + PIECE].images(torch.float64))
            total += x.sum(0)
            products += x.T @ x
        mean = total / len(images)
        values, vectors = torch.linalg.eigh(products / len(images) - torch.outer(mean, mean))
        return cls(mean, vectors * (values.clamp(min=0) + REGULARIZATION).rsqrt() @ vectors.T)

    def to(self, device: torch.device, dtype: torch.dtype) -> Self:
        return type(self)(self.mean.to(device, dtype), self.matrix.to(device, dtype))

    def __call__(self, images: Tensor) -> Tensor:
        """Whiten images (N, C, H, W), which are in [0, 1]."""
        return ((_centre_pixels(images) - self.mean) @ self.matrix).view_as(images)


def _centre_pixels(images: Tensor) -> Tensor:
    """Flatten images (N, C, H, W) in [0, 1] to (N, D) in [-1, 1]."""
    return 2 * images.flatten(1) - 1

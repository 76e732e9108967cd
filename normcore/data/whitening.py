"""ZCA whitening: Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images", appendix A.

N images of D numbers each.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from normcore.data.images import LabelledImages

REGULARIZATION = 1e-5  # added to the eigenvalues, as in the code of Salimans and Kingma 2016, for pixels in [-1, 1]
PIECE = 5000  # images whose products are added up together


@dataclass(frozen=True, slots=True)
class Whitening:
    """x -> (x - mean) W, with W = U diag(1 / sqrt(S + 1e-5)) U', U S U' being the covariance of the training images.

    Attributes:
        mean: (D)
        matrix: W (D, D)
    """

    mean: Tensor
    matrix: Tensor

    @classmethod
    def fitted(cls, images: LabelledImages) -> Self:
        """The whitening of these images. Computed in float64, a piece at a time."""
        size = images.pixels.shape[1]
        total = torch.zeros(size, dtype=torch.float64)
        products = torch.zeros(size, size, dtype=torch.float64)
        for start in range(0, len(images), PIECE):
            x = _centred(images[start : start + PIECE].images(torch.float64))
            total += x.sum(0)
            products += x.T @ x
        mean = total / len(images)
        values, vectors = torch.linalg.eigh(products / len(images) - torch.outer(mean, mean))
        return cls(mean, vectors * (values.clamp(min=0) + REGULARIZATION).rsqrt() @ vectors.T)

    def to(self, device: torch.device, dtype: torch.dtype) -> Self:
        return type(self)(self.mean.to(device, dtype), self.matrix.to(device, dtype))

    def __call__(self, images: Tensor) -> Tensor:
        """Images (N, C, H, W) in [0, 1], whitened."""
        return ((_centred(images) - self.mean) @ self.matrix).view_as(images)


def _centred(images: Tensor) -> Tensor:
    """(N, C, H, W) in [0, 1] -> (N, D) in [-1, 1]."""
    return 2 * images.flatten(1) - 1

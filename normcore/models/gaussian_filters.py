"""A grid of Gaussian filters over an image: DRAW's selective attention (Gregor et al. 2015, arXiv:1502.04623, section
3.2).

Shapes: B images of S x S pixels, N x N filters.
"""

from typing import NamedTuple

import torch
from torch import Tensor

WIDEST = 10.0  # bound of log stride, in parts of the image
FAR, FARTHEST = 1e3, 1e18  # pixels; a filter at FARTHEST has all its weight on one pixel
EXTREME = 20.0  # bound of |log variance| and |log intensity|


class Attention(NamedTuple):
    """Place of a grid of N x N filters, in pixels counted from 1; each field is (B).

    Attributes:
        x, y: centre of the grid.
        stride: distance from one filter to the next.
        variance: variance of each filter.
        intensity: gamma, the factor of what is read.
    """

    x: Tensor
    y: Tensor
    stride: Tensor
    variance: Tensor
    intensity: Tensor

    @classmethod
    def of(cls, numbers: Tensor, side: int, size: int) -> "Attention":
        """Compute the attention from the decoder's five numbers (B, 5), for ``size`` x ``size`` filters (Eq. 21-24).

        The paper divides by N - 1; with a single filter (N = 1), this divisor is taken to be 1.

        Deviation: log variance, log stride and log intensity are bounded, so that they do not overflow. At the bounds
        of log variance and log stride a filter is far narrower than a pixel, wider than the image, or outside it.
        """
        x, y, log_variance, log_stride, log_intensity = numbers.unbind(1)  # Eq. 21
        return cls(
            x=(side + 1) / 2 * (x + 1),  # Eq. 22
            y=(side + 1) / 2 * (y + 1),  # Eq. 23
            stride=(side - 1) / max(size - 1, 1) * log_stride.clamp(max=WIDEST).exp(),  # Eq. 24
            variance=log_variance.clamp(-EXTREME, EXTREME).exp(),
            intensity=log_intensity.clamp(-EXTREME, EXTREME).exp(),
        )


def filters(centre: Tensor, stride: Tensor, variance: Tensor, size: int, side: int) -> Tensor:
    """Compute F (B, N, S): row i is a Gaussian around the mean of filter i, with weights that add up to 1 (Eq. 19, 20,
    25, 26).

    Deviation: F is computed as a softmax, so that a filter far outside the image does not cause a division by 0. The
    squared distance from such a filter would overflow, so only the part that differs between the pixels is computed.
    """
    i = torch.arange(1, size + 1, device=centre.device, dtype=centre.dtype)
    mean = centre.clamp(-FARTHEST, FARTHEST).unsqueeze(1) + (i - size / 2 - 0.5) * stride.unsqueeze(
        1
    )  # Eq. 19, 20: (B, N)
    a = torch.arange(1, side + 1, device=centre.device, dtype=centre.dtype)
    nearest = torch.where(mean.abs() > FAR, mean.clamp(1, side), mean).detach().unsqueeze(2)
    away = a - mean.unsqueeze(2)
    squares = (a - nearest) * (away + (nearest - mean.unsqueeze(2)))  # minus (mean - nearest)^2, equal for all pixels
    exponent = -squares / (2 * variance.view(-1, 1, 1))
    return exponent.softmax(-1)  # Eq. 25, 26


def read(images: Tensor, at: Attention, size: int) -> Tensor:
    """Read patches gamma F_Y x F_X' (B, C, N, N) from images x (B, C, S, S) (Eq. 27)."""
    f_x, f_y = _both(at, size, images.shape[-1])
    return at.intensity.view(-1, 1, 1, 1) * (f_y.unsqueeze(1) @ images @ f_x.mT.unsqueeze(1))


def write(patch: Tensor, at: Attention, side: int) -> Tensor:
    """Write a patch w (B, N, N) to an image: 1 / gamma F_Y' w F_X (B, S, S) (Eq. 29)."""
    f_x, f_y = _both(at, patch.shape[-1], side)
    return (f_y.mT @ patch @ f_x) / at.intensity.view(-1, 1, 1)


def _both(at: Attention, size: int, side: int) -> tuple[Tensor, Tensor]:
    return (
        filters(at.x, at.stride, at.variance, size, side),
        filters(at.y, at.stride, at.variance, size, side),
    )

"""A grid of Gaussian filters over an image: DRAW's selective attention (Gregor et al. 2015, arXiv:1502.04623, section
3.2).

Shapes: B images of S x S pixels, N x N filters.
"""

from typing import NamedTuple

import torch
from torch import Tensor

WIDEST = 10.0  # log stride, in parts of the image
FAR, FARTHEST = 1e3, 1e18  # pixels; of a filter that is farthest, all weight is on one pixel
EXTREME = 20.0  # log variance and log intensity, below and above 0


class Attention(NamedTuple):
    """Place of a grid of N x N filters, in pixels counted from 1; each field is (B).

    Attributes:
        x, y: its centre.
        stride: from one filter to the next.
        variance: of each filter.
        intensity: gamma, by which what is seen is multiplied.
    """

    x: Tensor
    y: Tensor
    stride: Tensor
    variance: Tensor
    intensity: Tensor

    @classmethod
    def of(cls, numbers: Tensor, side: int, size: int) -> "Attention":
        """Attention from the five numbers (B, 5) that the decoder gives, for ``size`` x ``size`` filters (Eq. 21-24).

        One filter has no stride; where the paper divides by N - 1, it is taken to be 1.

        Deviation: log variance and log stride are bounded, where a filter is by far narrower than a pixel, wider than
        the image or outside it, and log intensity is, so that none of them overflows.
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
    """F (B, N, S): row i is a Gaussian around the mean of filter i, whose weights add up to 1 (Eq. 19, 20, 25, 26).

    Deviation: it is computed as a softmax, so that a filter far outside the image does not divide by 0. Of the squared
    distance from such a filter only what differs between the pixels enters, as it would overflow.
    """
    i = torch.arange(1, size + 1, device=centre.device, dtype=centre.dtype)
    mean = centre.clamp(-FARTHEST, FARTHEST).unsqueeze(1) + (i - size / 2 - 0.5) * stride.unsqueeze(
        1
    )  # Eq. 19, 20: (B, N)
    a = torch.arange(1, side + 1, device=centre.device, dtype=centre.dtype)
    nearest = torch.where(mean.abs() > FAR, mean.clamp(1, side), mean).detach().unsqueeze(2)
    away = a - mean.unsqueeze(2)
    squares = (a - nearest) * (away + (nearest - mean.unsqueeze(2)))  # less (mean - nearest)^2
    exponent = -squares / (2 * variance.view(-1, 1, 1))
    return exponent.softmax(-1)  # Eq. 25, 26


def read(images: Tensor, at: Attention, size: int) -> Tensor:
    """gamma F_Y x F_X' (B, C, N, N) of images (B, C, S, S) (Eq. 27)."""
    f_x, f_y = _both(at, size, images.shape[-1])
    return at.intensity.view(-1, 1, 1, 1) * (f_y.unsqueeze(1) @ images @ f_x.mT.unsqueeze(1))


def write(patch: Tensor, at: Attention, side: int) -> Tensor:
    """1 / gamma F_Y' w F_X (B, S, S) of a patch w (B, N, N) (Eq. 29)."""
    f_x, f_y = _both(at, patch.shape[-1], side)
    return (f_y.mT @ patch @ f_x) / at.intensity.view(-1, 1, 1)


def _both(at: Attention, size: int, side: int) -> tuple[Tensor, Tensor]:
    return (
        filters(at.x, at.stride, at.variance, size, side),
        filters(at.y, at.stride, at.variance, size, side),
    )

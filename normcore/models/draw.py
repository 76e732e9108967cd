"""DRAW (Gregor et al. 2015, arXiv:1502.04623, with the equation numbers of that paper; LN section 6.4).

Shapes: T glimpses, B images of S x S pixels, H hidden units, Z latent numbers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from normcore.losses import kl_to_standard_normal
from normcore.models.build import Build
from normcore.models.gaussian_filters import Attention, read, write
from normcore.recurrent import step_by_step
from normcore.spec.models import draw as spec


class DrawnImages(NamedTuple):
    """Result of encoding images and painting them again.

    Attributes:
        canvas: (B, S, S), the logits of the pixels after the last glimpse.
        kl: (B), the cost of the latent numbers of all glimpses, in nats (Eq. 10, 11).
    """

    canvas: Tensor
    kl: Tensor


class GlimpseResult(NamedTuple):
    """Result of one glimpse: the canvas (B, S, S) after it, where the canvas was painted, and the cost (B) of the
    glimpse's latent numbers in nats."""

    canvas: Tensor
    at: Attention
    kl: Tensor


class Draw(nn.Module):
    """DRAW model: one LSTM encodes an image as latent numbers, another LSTM paints a canvas from these, glimpse by
    glimpse.

    Deviations: no peepholes (LN Eq. 29-31 have none); the biases of the forget gates start at 0, as all other biases.
    """

    def __init__(self, build: Build, options: spec.DrawModel, side: int) -> None:
        super().__init__()
        hidden, latent = options.hidden_size, options.latent_size
        self.options = options
        self.side = side
        self.encoder = build.cell(options.recurrent, options.encoder_inputs)
        self.decoder = build.cell(options.recurrent, latent)
        self.mean = _linear(hidden, latent)
        self.log_deviation = _linear(hidden, latent)
        self.read_attention = _linear(hidden, spec.ATTENTION)
        self.write_attention = _linear(hidden, spec.ATTENTION)
        self.patch = _linear(hidden, options.write_size**2)

    def noise(self, examples: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw standard normal numbers (T, B, Z) for ``examples`` images, by default from torch's global generator."""
        weight = self.mean.weight
        shape = (self.options.glimpses, examples, self.options.latent_size)
        return torch.randn(shape, generator=generator, device=weight.device, dtype=weight.dtype)

    def forward(self, images: Tensor, noise: Tensor | None = None) -> DrawnImages:
        """Encode images (B, S, S) and paint them again; ``noise`` (T, B, Z) is drawn anew if none is given."""
        noise = self.noise(len(images)) if noise is None else noise
        canvas, kl = images, torch.zeros(len(images), device=images.device, dtype=images.dtype)
        for painted in self.glimpses(images, noise):
            canvas, kl = painted.canvas, kl + painted.kl
        return DrawnImages(canvas, kl)

    def glimpses(self, images: Tensor, noise: Tensor) -> Iterator[GlimpseResult]:
        """Encode the images and paint them again, and yield the result of each glimpse."""
        canvas = torch.zeros_like(images)
        encoded, decoded = self.encoder.initial_state(len(images)), self.decoder.initial_state(len(images))
        with step_by_step(self.encoder) as encode, step_by_step(self.decoder) as decode:
            for t, epsilon in enumerate(noise):
                error = images - canvas.sigmoid()  # Eq. 3
                r = self._read(images, error, decoded.h)  # Eq. 4
                encoded = encode(torch.cat([r, decoded.h], 1), encoded, t)  # Eq. 5
                mean, log_deviation = self.mean(encoded.h), self.log_deviation(encoded.h)  # Eq. 1, 2
                z = mean + log_deviation.exp() * epsilon  # Eq. 6
                decoded = decode(z, decoded, t)  # Eq. 7
                painted, at = self._write(decoded.h)
                canvas = canvas + painted  # Eq. 8
                yield GlimpseResult(canvas, at, kl_to_standard_normal(mean, log_deviation))

    @torch.no_grad()
    def generate(self, noise: Tensor) -> Iterator[Tensor]:
        """Generate new images from the latent numbers (T, B, Z), and yield the canvas (B, S, S) after each glimpse."""
        examples = noise.shape[1]
        canvas = noise.new_zeros(examples, self.side, self.side)
        decoded = self.decoder.initial_state(examples)
        with step_by_step(self.decoder) as decode:
            for t, z in enumerate(noise):
                decoded = decode(z, decoded, t)
                canvas = canvas + self._write(decoded.h)[0]
                yield canvas

    def _read(self, images: Tensor, error: Tensor, h: Tensor) -> Tensor:
        """Read the same patch from the images and from the error, together (B, 2 N N), with the attention given by
        h."""
        size = self.options.read_size
        at = Attention.of(self.read_attention(h), self.side, size)
        return read(torch.stack([images, error], 1), at, size).flatten(1)

    def _write(self, h: Tensor) -> tuple[Tensor, Attention]:
        size = self.options.write_size
        at = Attention.of(self.write_attention(h), self.side, size)
        return write(self.patch(h).view(-1, size, size), at, self.side), at  # Eq. 28, 29


def _linear(inputs: int, outputs: int) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    nn.init.normal_(linear.weight, std=0.01)
    nn.init.zeros_(linear.bias)
    return linear

"""Handwriting synthesis (Graves 2013, arXiv:1308.0850, section 5, with the equation numbers of that paper; LN section
6.5).

Shapes: T points, B examples, U characters, V kinds of characters, H hidden units, M components. A point is
(dx, dy, end).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.cells import State
from normcore.models.build import Build
from normcore.models.pen_mixture import PenMixture
from normcore.models.soft_window import Window
from normcore.recurrent import RecurrentState, step_by_step
from normcore.spec.models import handwriting as spec


class Text(NamedTuple):
    """Texts to write: one-hot characters (B, U, V), 0 beyond each text, and the number of characters of each (B)."""

    characters: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, codes: Tensor, lengths: Tensor, kinds: int, dtype: torch.dtype) -> "Text":
        """Texts from character codes (B, U), int64. Values beyond a text's end are ignored."""
        beyond = torch.arange(codes.shape[1], device=codes.device) >= lengths.unsqueeze(1)
        characters = functional.one_hot(codes.masked_fill(beyond, 0), kinds).to(dtype)
        return cls(characters.masked_fill(beyond.unsqueeze(2), 0), lengths)


class PenPoint(NamedTuple):
    """A drawn point (B, 3), and the window on the text at that point."""

    point: Tensor
    window: Window


class Handwriting(nn.Module):
    """Handwriting model: three LSTMs one above the other, a window that the first LSTM moves over the text, and a
    mixture density for the next point.

    Deviations: no peepholes, as in LN Eq. 20-22.
    """

    def __init__(self, build: Build, options: spec.HandwritingModel, kinds: int) -> None:
        super().__init__()
        hidden, inputs = options.hidden_size, spec.POINT + kinds
        self.options = options
        self.kinds = kinds
        self.first = build.cell(options.recurrent, inputs)
        self.above = nn.ModuleList(build.recurrent(options.recurrent, inputs + hidden) for _ in range(spec.LAYERS - 1))
        self.window = nn.Linear(hidden, spec.OF_GAUSSIAN * options.gaussians)
        with torch.no_grad():
            self.window.bias[-options.gaussians :] += math.log(options.advance)  # bias of the advance in Eq. 51
        self.output = nn.Linear(spec.LAYERS * hidden, options.outputs)

    def forward(self, points: Tensor, lengths: Tensor, longest: int, text: Text) -> Tensor:
        """Compute the parameters (T, B, 6 M + 1) of the mixture for each next point.

        Args:
            points: (T, B, 3).
            lengths: (B), the number of points of each example; the points after them are padding.
            longest: the largest of ``lengths``.
        """
        h, windows = self._below(points, lengths, text)
        w = torch.stack([window.value for window in windows])
        outputs = [h]
        for layer in self.above:
            h, _ = layer(torch.cat([points, w, h], 2), lengths, longest=longest)  # Eq. 53
            outputs.append(h)
        numbers: Tensor = self.output(torch.cat(outputs, 2))  # Eq. 17
        return numbers

    def windows(self, points: Tensor, lengths: Tensor, text: Text) -> list[Window]:
        """Compute the window on the text at each point."""
        return self._below(points, lengths, text)[1]

    def _below(self, points: Tensor, lengths: Tensor, text: Text) -> tuple[Tensor, list[Window]]:
        """Compute h of the first layer (T, B, H), and the window on the text that it moves, at each point."""
        state: State = self.first.initial_state(points.shape[1])
        window = Window.before(text.characters, self.options.gaussians)
        states, windows = [], []
        with step_by_step(self.first) as step:
            for t, point in enumerate(points):
                there = (t < lengths).unsqueeze(1)
                new = step(torch.cat([point, window.value], 1), state, t)  # Eq. 52
                state = type(new)(*(torch.where(there, n, o) for n, o in zip(new, state, strict=True)))
                window = window.move_window(self.window(state.h), *text)
                states.append(state.h)
                windows.append(window)
        return torch.stack(states), windows

    @torch.no_grad()
    def write(
        self, text: Text, first: Tensor, generator: torch.Generator, most: int, bias: float = 0.0
    ) -> Iterator[PenPoint]:
        """Draw points until all texts are written, but not more than ``most`` points (section 5.3).

        Args:
            first: the first point (3) of every line, which is given and not drawn.
            bias: how neat the writing is, see ``PenMixture.of``.
        """
        batch = len(text.lengths)
        below: State = self.first.initial_state(batch)
        above: list[RecurrentState | None] = [None] * len(self.above)
        window = Window.before(text.characters, self.options.gaussians)
        point = first.to(text.characters).expand(batch, 3)
        done = torch.zeros(batch, dtype=torch.bool, device=point.device)
        with step_by_step(self.first) as step:
            for t in range(most):
                below = step(torch.cat([point, window.value], 1), below, t)
                window = window.move_window(self.window(below.h), *text)
                outputs = [below.h]
                for k, layer in enumerate(self.above):
                    y, above[k] = layer(torch.cat([point, window.value, outputs[-1]], 1).unsqueeze(0), state=above[k])
                    outputs.append(y[0])
                point = PenMixture.of(self.output(torch.cat(outputs, 1)), bias).draw_points(generator)
                yield PenPoint(point, window)
                done |= window.beyond > window.weights.max(1).values
                if done.all():
                    return

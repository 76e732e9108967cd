"""Task: write a given text by hand (LN section 6.5).

Shapes: T points, B lines, U characters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from normcore.data import handwriting
from normcore.data.handwriting import encode_text
from normcore.data.iam_ondb import HandwrittenLine
from normcore.figures import Figure, as_json
from normcore.figures.attention import attention
from normcore.figures.pen import svg
from normcore.models.build import Build
from normcore.models.handwriting import Handwriting, Text
from normcore.models.pen_mixture import PenMixture
from normcore.spec.models import handwriting as models
from normcore.spec.tasks import handwriting as spec
from normcore.tasks.task import Loss, Resources, even_batches, shuffle_into_batches

EVALUATION_BATCH = 100
POPULATION = 1000  # training lines whose statistics are averaged
SAMPLES = 3  # samples of the text
POINTS_OF_CHARACTER = 40  # points for each character of a sample, at most; lines have 25 on average


class Batch(NamedTuple):
    """Batch of handwritten lines.

    Attributes:
        points: (T + 1, B, 3), 0 beyond the end of each line.
        lengths: (B,), number of steps of each line: the number of its points less one. On the device.
        longest: the largest of ``lengths``.
        text: texts of the lines.
    """

    points: Tensor
    lengths: Tensor
    longest: int
    text: Text


class HandwritingTask:
    """Task of predicting each point of a handwritten line from the points before it and the line's text."""

    def __init__(
        self, options: spec.Handwriting, resources: Resources, lines: handwriting.Handwriting | None = None
    ) -> None:
        if lines is None:
            lines = handwriting.load(options.dataset, resources.datasets_dir)
        if options.examples is not None:
            lines = lines.first(options.examples)
        self.checksums: Mapping[str, str] = lines.checksums
        self._resources = resources
        self._text = options.text
        self._mean, self._deviation = lines.mean, lines.deviation
        self._train, self._valid = (
            self._encode_lines(part, lines, options.points) for part in (lines.train, lines.valid)
        )
        self.no_skill = _cost_of_moments(self._train, self._valid)

    def _encode_lines(
        self, lines: Sequence[HandwrittenLine], of: handwriting.Handwriting, points: int
    ) -> list[tuple[Tensor, Tensor]]:
        return [(of.standardize_line(line, points), encode_text(line.text)) for line in lines]

    def model(self, build: Build) -> Handwriting:
        assert isinstance(build.options, models.HandwritingModel)
        return Handwriting(build, build.options, spec.KINDS)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffle_into_batches(torch.arange(len(self._train)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> Batch:
        return self._batch([self._train[k] for k in examples.tolist()])

    def loss(self, model: Handwriting, batch: Batch) -> Loss:
        return Loss(self._costs(model, batch).mean())

    def population(self) -> Iterator[Batch]:
        return self._in_batches(self._train[:POPULATION])

    def observe(self, model: Handwriting, batch: Batch) -> None:
        model(batch.points[:-1], batch.lengths, batch.longest, batch.text)

    def validate(self, model: Handwriting) -> dict[str, float]:
        nats = self._score(model)
        return {"loss": nats, "nats": nats}

    def test(self, model: Handwriting) -> dict[str, float]:
        """Test on the validation lines: Graves trains on all other lines, and no model was selected by these lines."""
        return {"nats": self._score(model)}

    def artifacts(self, model: Handwriting) -> Mapping[str, Callable[[], bytes]]:
        return {
            "written.svg": lambda: svg([self._moves(points) for points in self._write_samples(model)], self._text),
            "figures/window.json": lambda: as_json(self._window(model)),
            "figures/mixture.json": lambda: as_json(self._mixture(model)),
        }

    def _costs(self, model: Handwriting, batch: Batch) -> Tensor:
        """Negative log-likelihood of each line (B,), in nats."""
        numbers = model(batch.points[:-1], batch.lengths, batch.longest, batch.text)
        cost = PenMixture.of(numbers).cost(batch.points[1:])
        steps = torch.arange(len(cost), device=cost.device).unsqueeze(1)
        return cost.masked_fill(steps >= batch.lengths, 0).sum(0)

    def _score(self, model: Handwriting) -> float:
        total = torch.zeros((), dtype=torch.float64, device=self._resources.device)
        for batch in self._in_batches(self._valid):
            total += self._costs(model, batch).double().sum()
        return total.item() / len(self._valid)

    def _in_batches(self, lines: Sequence[tuple[Tensor, Tensor]]) -> Iterator[Batch]:
        for part in even_batches(torch.arange(len(lines)), EVALUATION_BATCH):
            yield self._batch([lines[k] for k in part.tolist()])

    def _batch(self, lines: Sequence[tuple[Tensor, Tensor]]) -> Batch:
        device, dtype = self._resources.device, self._resources.dtype
        points = pad_sequence([points for points, _ in lines]).to(device, dtype)
        lengths = torch.tensor([len(points) - 1 for points, _ in lines], device=device)
        codes = pad_sequence([codes for _, codes in lines], batch_first=True).to(device)
        of_texts = torch.tensor([len(codes) for _, codes in lines], device=device)
        return Batch(points, lengths, len(points) - 1, Text.of(codes, of_texts, spec.KINDS, dtype))

    @torch.no_grad()
    def _write_samples(self, model: Handwriting) -> list[Tensor]:
        """Let the model write the task's text ``SAMPLES`` times: points (T, 3) of each sample."""
        codes = encode_text(self._text).expand(SAMPLES, -1).to(self._resources.device)
        lengths = torch.full((SAMPLES,), codes.shape[1], device=codes.device)
        text = Text.of(codes, lengths, spec.KINDS, self._resources.dtype)
        at_rest = torch.cat([-self._mean / self._deviation, torch.zeros(1)])  # the first point of every line
        generator = torch.Generator(codes.device).manual_seed(0)
        ends = torch.full((SAMPLES,), -1)
        points = []
        for t, written in enumerate(model.write(text, at_rest, generator, POINTS_OF_CHARACTER * codes.shape[1])):
            points.append(written.point)
            beyond = (written.window.beyond > written.window.weights.max(1).values).cpu()
            ends = torch.where((ends < 0) & beyond, t + 1, ends)
        drawn = torch.stack(points).cpu().float()
        return [drawn[: end if end > 0 else None, k] for k, end in enumerate(ends.tolist())]

    def _moves(self, points: Tensor) -> Tensor:
        """Turn standardized points (T, 3) back into units of the data."""
        return torch.cat([points[:, :2] * self._deviation + self._mean, points[:, 2:]], 1)

    @torch.no_grad()
    def _window(self, model: Handwriting) -> Figure:
        batch, line = self._pick_shown_line()
        windows = model.windows(batch.points[:-1], batch.lengths, batch.text)
        weights = torch.stack([window.weights[0] for window in windows], 1)
        return attention(weights.cpu().tolist(), list(line), "What the window sees", "point", "character")

    @torch.no_grad()
    def _mixture(self, model: Handwriting) -> Figure:
        batch, _ = self._pick_shown_line()
        numbers = model(batch.points[:-1], batch.lengths, batch.longest, batch.text)
        weights = PenMixture.of(numbers).log_weights.exp()[:, 0].T
        names = [str(k) for k in range(1, len(weights) + 1)]
        return attention(weights.cpu().tolist(), names, "Weights of the mixture", "point", "component")

    def _pick_shown_line(self) -> tuple[Batch, str]:
        """Batch of the first validation line, and its text as the network reads it (rare characters are ``#``)."""
        points, codes = self._valid[0]
        return self._batch([(points, codes)]), "".join((spec.ALPHABET + "#")[code] for code in codes.tolist())


def _cost_of_moments(train: Sequence[tuple[Tensor, Tensor]], valid: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Nats for each validation line of a model without skill: offsets are normal with the training lines' mean and
    covariance, and the pen is lifted as often as in the training lines."""
    known = torch.cat([points[1:] for points, _ in train]).double()
    normal = torch.distributions.MultivariateNormal(known[:, :2].mean(0), known[:, :2].T.cov())
    lifted = torch.distributions.Bernoulli((known[:, 2].sum() + 1) / (len(known) + 2))
    points = torch.cat([points[1:] for points, _ in valid]).double()
    offsets: Tensor = normal.log_prob(points[:, :2])  # type: ignore[no-untyped-call]
    pen: Tensor = lifted.log_prob(points[:, 2])  # type: ignore[no-untyped-call]
    return -(offsets.sum() + pen.sum()).item() / len(valid)

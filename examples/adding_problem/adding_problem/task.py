"""Computation of the task. Workers import this module.

T numbers in a sequence, B sequences in a batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import adding_problem as spec
from normcore.figures import as_json
from normcore.figures.figure import figure
from normcore.models.build import Build
from normcore.models.classifier import SequenceClassifier
from normcore.spec.models.recurrent import RecurrentModel
from normcore.tasks.task import Loss, Resources, even_batches, shuffle_into_batches

EXAMPLES = torch.arange(10_000)  # to train on
EVALUATED = 1000  # validation examples, test examples, and those in a batch for population statistics
Sums = tuple[Tensor, Tensor]  # (T, B, 2): each number and whether it is marked; (B): the sum of those that are


class AddingProblem:
    """Sequences are made, not read. Validation and test data are other ones than those trained on."""

    no_skill = 1 / 6  # of the answer 1: twice 1/12, the variance of a number between 0 and 1
    checksums: Mapping[str, str] = {}

    def __init__(self, options: spec.AddingProblem, resources: Resources) -> None:
        random = np.random.RandomState(options.data_seed)  # its streams are frozen for good
        sizes = (len(EXAMPLES), EVALUATED, EVALUATED)
        self._train, self._valid, self._test = (_sums(random, options.length, size, resources) for size in sizes)

    def model(self, build: Build) -> nn.Module:
        assert isinstance(build.options, RecurrentModel)
        return SequenceClassifier(build.recurrent(build.options, 2), 1)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffle_into_batches(EXAMPLES, batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator | None = None) -> Sums:
        x, y = self._train
        examples = examples.to(y.device, non_blocking=True)
        return x[:, examples], y[examples]

    def loss(self, model: nn.Module, batch: Sums) -> Loss:
        x, y = batch
        return Loss(functional.mse_loss(model(x).squeeze(1).to(y.dtype), y))

    def population(self) -> Iterator[Sums]:
        return map(self.batch, even_batches(EXAMPLES, EVALUATED))

    def observe(self, model: nn.Module, batch: Sums) -> None:
        model(batch[0])

    def validate(self, model: nn.Module) -> dict[str, float]:
        error = self.loss(model, self._valid).total.item()
        return {"loss": error, spec.ERROR.name: error}

    def test(self, model: nn.Module) -> dict[str, float]:
        return {spec.ERROR.name: self.loss(model, self._test).total.item()}

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        return {"figures/answers.json": lambda: self._answers(model)}

    @torch.no_grad()
    def _answers(self, model: nn.Module) -> bytes:
        x, y = self._test
        points = {"type": "scatter", "mode": "markers", "x": y.tolist(), "y": model(x).squeeze(1).tolist()}
        return as_json(figure([points], "Adding problem: test data", "sum", "answer"))


def _sums(random: np.random.RandomState, length: int, size: int, resources: Resources) -> Sums:
    numbers, marks = random.uniform(size=(length, size)), np.zeros((length, size))
    for places in (random.randint(0, length // 2, size), random.randint(length // 2, length, size)):
        marks[places, np.arange(size)] = 1
    x, y = (torch.from_numpy(a) for a in (np.stack([numbers, marks], axis=-1), (numbers * marks).sum(0)))
    return x.to(resources.device, resources.dtype), y.to(resources.device, resources.dtype)

"""Contract between a task and the training loop."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from normcore.models.build import Build

B = TypeVar("B")
"""A batch: a frozen dataclass of tensors."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of a task: where its data comes from and goes to.

    Attributes:
        datasets_dir: where data sets live that do not come bundled.
        device: where batches are computed.
        dtype: of inputs that are not whole numbers.
    """

    datasets_dir: Path | None
    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a batch.

    Attributes:
        total: the number that is minimized.
        parts: what it is made of, by name; each becomes a series ``train.<name>``.
    """

    total: Tensor
    parts: Mapping[str, Tensor] = field(default_factory=dict)


class Task(Protocol[B]):
    """Data, a family of models, a loss and metrics. A task is built from ``(options, resources)``.

    A model is trained on ``loss``; which statistics batch norms use in validation is said by the options, and testing
    uses the population's; the caller arranges both. Nothing here changes a model, or takes randomness but from the
    generator it is given.
    """

    @property
    def checksums(self) -> Mapping[str, str]:
        """SHA-256 of everything that was read."""
        ...

    @property
    def no_skill(self) -> float:
        """The first metric's value of a model that ignores its input."""
        ...

    def model(self, build: Build) -> nn.Module:
        """A new model of the family that the options name; it is moved to its device by the caller."""
        ...

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """One epoch's training examples in batches, (B,) int64 each; the task decides which example a number means."""
        ...

    def batch(self, examples: Tensor, generator: torch.Generator) -> B:
        """The training examples of these numbers, on the device; ``generator`` decides what is drawn anew for each."""
        ...

    def loss(self, model: nn.Module, batch: B) -> Loss:
        """Loss of the model on a batch."""
        ...

    def population(self) -> Iterator[B]:
        """The training data in the batches whose statistics are averaged.

        Deviation: the papers' tasks of reading, retrieval, sentences, drawing and handwriting take the first
        ``POPULATION`` examples instead of all, so that an evaluation does not cost as much as an epoch.
        """
        ...

    def observe(self, model: nn.Module, batch: B) -> None:
        """A forward pass for what the model's norms see in it."""
        ...

    def validate(self, model: nn.Module) -> Mapping[str, float]:
        """Loss and metrics on the validation data, by name; other numbers of interest, too."""
        ...

    def test(self, model: nn.Module) -> Mapping[str, float]:
        """All of the task's metrics on the test data."""
        ...

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        """Files that show what the selected model does, by name; ``figures/<name>.json`` holds a figure."""
        ...


def shuffled(examples: Tensor, batch_size: int, generator: torch.Generator) -> Sequence[Tensor]:
    """An epoch of (N,) examples in random order. The last batch is as small as the rest, except that a rest of one is
    left out, for it has no batch statistics."""
    order = examples[torch.randperm(len(examples), generator=generator)]
    return in_batches(order, batch_size)


def in_batches(order: Tensor, batch_size: int) -> Sequence[Tensor]:
    """An epoch (N,) cut into batches in this order, without a rest of one."""
    batches = torch.split(order, batch_size)
    rest_of_one = len(batches[-1]) == 1 < min(len(order), batch_size)
    return batches[:-1] if rest_of_one else batches


def even_batches(examples: Tensor, size: int) -> Iterator[Tensor]:
    """Cut (N, ...) into batches of ``size``; the rest follows, but a rest of one joins the batch before."""
    batches = list(torch.split(examples, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    yield from batches

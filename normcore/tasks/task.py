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
    """Resources of a task: folder of the data, device and dtype of the tensors.

    Attributes:
        datasets_dir: folder of the data sets that do not come bundled; None if there is no such folder.
        device: device of the batches.
        dtype: dtype of inputs that are not integers.
    """

    datasets_dir: Path | None
    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a batch.

    Attributes:
        total: the number that is minimized.
        parts: further numbers, such as terms of the total, by name; each becomes a series ``train.<name>``.
    """

    total: Tensor
    parts: Mapping[str, Tensor] = field(default_factory=dict)


class Task(Protocol[B]):
    """Task: data, a family of models, a loss and metrics. A task is built from ``(options, resources)``.

    A model is trained on ``loss``. In validation, batch norms use the statistics that the options choose; in testing
    they use population statistics. The caller switches between them. A task never changes a model's weights, and takes
    randomness only from the generator that it is given.
    """

    @property
    def checksums(self) -> Mapping[str, str]:
        """SHA-256 digests of all data that the task read, by name."""
        ...

    @property
    def no_skill(self) -> float:
        """Level without skill: the value of the task's first metric for a model that ignores its input."""
        ...

    def model(self, build: Build) -> nn.Module:
        """Make a new model of the family that the options name. The caller moves the model to its device."""
        ...

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        """Batches of one epoch: numbers (B,), int64, of training examples. The task defines the numbering."""
        ...

    def batch(self, examples: Tensor, generator: torch.Generator) -> B:
        """Make a batch of the training examples with these numbers, on the device; random parts use ``generator``."""
        ...

    def loss(self, model: nn.Module, batch: B) -> Loss:
        """Loss of the model on a batch."""
        ...

    def population(self) -> Iterator[B]:
        """Batches of training data from which population statistics are averaged.

        Deviation: the papers' tasks of reading, retrieval, sentences, drawing and handwriting use the first
        ``POPULATION`` examples instead of all, so that an evaluation does not cost as much as an epoch.
        """
        ...

    def observe(self, model: nn.Module, batch: B) -> None:
        """Run a forward pass of a batch, so that the model's norms can collect its statistics."""
        ...

    def validate(self, model: nn.Module) -> Mapping[str, float]:
        """Loss, metrics, and other numbers of interest on the validation data, by name."""
        ...

    def test(self, model: nn.Module) -> Mapping[str, float]:
        """All of the task's metrics on the test data."""
        ...

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        """Files that show what the selected model does: for each file name a function that makes the content.

        A file ``figures/<name>.json`` holds a figure.
        """
        ...


def shuffle_into_batches(examples: Tensor, batch_size: int, generator: torch.Generator) -> Sequence[Tensor]:
    """Shuffle examples (N,) and cut them into the batches of an epoch. The last batch may be smaller.

    A last batch of a single example is left out, as one example has no batch statistics.
    """
    order = examples[torch.randperm(len(examples), generator=generator)]
    return in_batches(order, batch_size)


def in_batches(order: Tensor, batch_size: int) -> Sequence[Tensor]:
    """Cut an epoch's examples ``order`` (N,) into batches. A last batch of a single example is left out."""
    batches = torch.split(order, batch_size)
    rest_of_one = len(batches[-1]) == 1 < min(len(order), batch_size)
    return batches[:-1] if rest_of_one else batches


def even_batches(examples: Tensor, size: int) -> Iterator[Tensor]:
    """Cut examples (N, ...) into batches of ``size``. The last may be smaller; a single last example joins the batch
    before."""
    batches = list(torch.split(examples, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    yield from batches

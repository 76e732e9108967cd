"""What every task owes the training loop."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import torch
from torch import Tensor, nn

from normcore.models.assembly import MakeRecurrent


class Task(Protocol):
    """Data, a model family, a loss and a metric.

    A model is trained on ``loss``; validation uses batch statistics and testing population statistics, which the
    caller arranges. Nothing here changes a model or takes randomness but from the generator it is given.
    """

    @property
    def checksums(self) -> Mapping[str, str]:
        """SHA-256 of everything that was read."""
        ...

    def model(self, recurrent: MakeRecurrent) -> nn.Module:
        """A new model around the network that ``recurrent(input_size)`` makes."""
        ...

    def epoch(self, generator: torch.Generator) -> Tensor:
        """(N,) int64: one epoch's training examples, shuffled; what a number stands for is the task's own affair."""
        ...

    def loss(self, model: nn.Module, examples: Tensor) -> Tensor:
        """Mean loss in nats over some of an epoch's examples (B,)."""
        ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Loss in nats and metrics on the validation data, by name."""
        ...

    def population(self) -> Iterator[Tensor]:
        """The training data as inputs of the model, in the batches whose statistics are averaged."""
        ...

    def test(self, model: nn.Module) -> float:
        """The task's metric on the test data."""
        ...


def even_batches(examples: Tensor, size: int) -> Iterator[Tensor]:
    """Cut (N, ...) into batches of ``size``; the rest follows, but a rest of one joins the batch before."""
    batches = list(torch.split(examples, size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    yield from batches

"""The order in which training examples come: epochs, batches, and the place in both, which can be saved."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class TrainingOrder:
    """Endless batches of example numbers; every epoch is drawn anew.

    Args:
        draw: gives one epoch's batches, (B,) int64 each; takes randomness from the generator alone.
        generator: decides everything.
    """

    def __init__(self, draw: Callable[[torch.Generator], Sequence[Tensor]], generator: torch.Generator) -> None:
        self._draw = draw
        self._generator = generator
        self._begin_epoch()

    def next_batch(self) -> Tensor:
        """(B,) int64: the examples of the next update."""
        batch = self.peek()
        self._position += 1
        return batch

    def peek(self) -> Tensor:
        """Look at the next batch without taking it: ``next_batch`` gives the same."""
        if self._position == len(self._batches):
            self._begin_epoch()
        batch: Tensor = self._batches[self._position]
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The place in the data: the generator as it was before this epoch, and the batches taken since."""
        return {"generator": self._before_epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a place that ``state_dict`` told."""
        self._generator.set_state(state["generator"])
        self._begin_epoch()
        self._position = state["position"]

    def _begin_epoch(self) -> None:
        self._before_epoch = self._generator.get_state()
        self._batches = self._draw(self._generator)
        self._position = 0

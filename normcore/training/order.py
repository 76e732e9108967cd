"""Order of the training examples: epochs and batches, with a position that can be saved."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


class TrainingOrder:
    """Endless sequence of batches of example numbers; every epoch is drawn anew.

    Args:
        draw: function that draws the batches of one epoch, (B,) int64 each, with randomness from the generator only.
        generator: random generator that decides the whole order.
    """

    def __init__(self, draw: Callable[[torch.Generator], Sequence[Tensor]], generator: torch.Generator) -> None:
        self._draw = draw
        self._generator = generator
        self._begin_epoch()

    def next_batch(self) -> Tensor:
        """Take the next batch: numbers (B,), int64, of the examples of the next update."""
        batch = self.peek()
        self._position += 1
        return batch

    def peek(self) -> Tensor:
        """Look at the next batch without taking it; ``next_batch`` will return the same batch."""
        if self._position == len(self._batches):
            self._begin_epoch()
        batch: Tensor = self._batches[self._position]
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Position in the data: the generator's state before this epoch, and the number of batches taken since."""
        return {"generator": self._before_epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a position that ``state_dict`` returned."""
        self._generator.set_state(state["generator"])
        self._begin_epoch()
        self._position = state["position"]

    def _begin_epoch(self) -> None:
        self._before_epoch = self._generator.get_state()
        self._batches = self._draw(self._generator)
        self._position = 0

"""Average over many sequences of a quantity that has a value at every step."""

import torch
from torch import Tensor


class StepAverage:
    """Mean over sequences, for every step, of a tensor that each step has. It takes the memory of one sequence.

    A sequence shorter than the longest counts as if its last entry were repeated up to that length (the code of
    Cooijmans et al. 2017).
    """

    def __init__(self) -> None:
        self._total: Tensor | None = None
        self._sequences = 0
        self._current: list[Tensor] = []

    def add(self, values: Tensor, t: int) -> None:
        """Add the ``values`` (S, ...) of the steps t, t + 1, ... of a sequence; step 0 begins a new sequence.

        Raises:
            ValueError: a step was left out.
        """
        if t == 0:
            self._finish()
        expected = sum(map(len, self._current))
        if t != expected:
            raise ValueError(
                f"expected statistics of step {expected}, received step {t}; pass sequences from the start"
            )
        self._current.append(values)

    def mean(self) -> Tensor:
        """Return the average (T, ...) over the sequences, where T is the length of the longest sequence.

        Raises:
            ValueError: there was no sequence.
        """
        self._finish()
        if self._total is None:
            raise ValueError("expected at least one sequence to average over, received none; run a forward pass")
        return self._total / self._sequences

    def _finish(self) -> None:
        if not self._current:
            return
        sequence = torch.cat(self._current)
        if self._total is None:
            self._total = sequence
        else:
            steps = max(len(self._total), len(sequence))
            self._total = _extend_values(self._total, steps) + _extend_values(sequence, steps)
        self._sequences += 1
        self._current = []


def _extend_values(values: Tensor, steps: int) -> Tensor:
    return torch.cat([values, values[-1:].expand(steps - len(values), *values.shape[1:])])

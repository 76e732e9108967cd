"""Sequences of words, side by side.

Shapes: T words, B sequences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Words(NamedTuple):
    """Numbers of words (T, B), how many each sequence has (B), and the largest of these."""

    codes: Tensor
    lengths: Tensor
    longest: int

    @property
    def there(self) -> Tensor:
        """(T, B), false in the padding."""
        return torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1) < self.lengths

    @classmethod
    def of(cls, sequences: Sequence[Tensor], device: torch.device) -> "Words":
        """From sequences (T) of one word or more each; 0 follows a shorter one."""
        lengths = torch.tensor([len(codes) for codes in sequences])
        codes = torch.nn.utils.rnn.pad_sequence(list(sequences))
        return cls(codes.to(device), lengths.to(device), int(lengths.max()))

    def cycled(self) -> "Words":
        """A shorter sequence is followed by itself, over and over."""
        steps = torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1)
        return self._replace(codes=self.codes.gather(0, steps % self.lengths))

"""Sequences of words, side by side.

Shapes: T words, B sequences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Words(NamedTuple):
    """Words of each sequence.

    Attributes:
        codes: numbers of words (T, B).
        lengths: how many each sequence has (B).
        longest: the largest of these.
        places: of the words among all T B (N), so that who takes them alone need not wait to hear how many there are.
    """

    codes: Tensor
    lengths: Tensor
    longest: int
    places: Tensor

    @property
    def there(self) -> Tensor:
        """(T, B), false in the padding."""
        return torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1) < self.lengths

    @classmethod
    def of(cls, sequences: Sequence[Tensor], device: torch.device) -> "Words":
        """Words from sequences (T) of one word or more each; 0 follows a shorter one."""
        lengths = torch.tensor([len(codes) for codes in sequences])
        codes = torch.nn.utils.rnn.pad_sequence(list(sequences))
        places = (torch.arange(len(codes)).unsqueeze(1) < lengths).flatten().nonzero().squeeze(1)
        return cls(codes.to(device), lengths.to(device), int(lengths.max()), places.to(device))

    def cycled(self) -> "Words":
        """A shorter sequence is followed by itself, over and over."""
        steps = torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1)
        return self._replace(codes=self.codes.gather(0, steps % self.lengths))

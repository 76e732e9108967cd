"""Batches of word sequences.

Shapes: T words, B sequences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Words(NamedTuple):
    """A batch of word sequences, padded to the longest sequence.

    Attributes:
        codes: (T, B), the number that stands for each word.
        lengths: (B), how many words each sequence has.
        longest: the largest of ``lengths``.
        places: (N), where the N words are among all T B places, without padding. With ``places``, code that selects the
            words need not wait for the device to count them.
    """

    codes: Tensor
    lengths: Tensor
    longest: int
    places: Tensor

    @property
    def there(self) -> Tensor:
        """Mask (T, B), true at words and false in the padding."""
        return torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1) < self.lengths

    @classmethod
    def of(cls, sequences: Sequence[Tensor], device: torch.device) -> "Words":
        """Make a batch of sequences (T) that have at least one word each; shorter sequences are padded with 0."""
        lengths = torch.tensor([len(codes) for codes in sequences])
        codes = torch.nn.utils.rnn.pad_sequence(list(sequences))
        places = (torch.arange(len(codes)).unsqueeze(1) < lengths).flatten().nonzero().squeeze(1)
        return cls(codes.to(device), lengths.to(device), int(lengths.max()), places.to(device))

    def cycle_sequences(self) -> "Words":
        """Fill the padding after each shorter sequence with repetitions of that sequence."""
        steps = torch.arange(len(self.codes), device=self.codes.device).unsqueeze(1)
        return self._replace(codes=self.codes.gather(0, steps % self.lengths))

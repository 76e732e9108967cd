"""A text in three contiguous splits, as symbol numbers."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text in three splits.

    Attributes:
        train, valid, test: (N,) numbers of symbols, int64; uint8 for long texts, of which a batch becomes int64 when it
            is taken.
        symbols: the alphabet; number i stands for ``symbols[i]``.
        checksums: digests of what was read.
    """

    train: Tensor
    valid: Tensor
    test: Tensor
    symbols: str
    checksums: dict[str, str]

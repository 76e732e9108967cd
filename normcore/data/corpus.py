"""Corpus: a text in three contiguous splits, encoded as numbers of symbols."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text in three splits.

    Attributes:
        train, valid, test: (N,) numbers of symbols, int64. Long texts have uint8; their batches are turned into int64.
        symbols: the alphabet; number i stands for ``symbols[i]``.
        checksums: digests of the files or texts that were read.
    """

    train: Tensor
    valid: Tensor
    test: Tensor
    symbols: str
    checksums: dict[str, str]

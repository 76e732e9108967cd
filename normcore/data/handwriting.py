"""Lines of handwriting, point by point, with their texts: IAM-OnDB as Graves 2013 uses it (arXiv:1308.0850, section
5.2).

A point is (dx, dy, end): the offset from the point before, y downwards, and 1 if it is the last point of its stroke.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from normcore.data import iam_ondb
from normcore.data.iam_ondb import HandwrittenLine
from normcore.data.lines import lines_of
from normcore.data.registry import DATASETS, DatasetCorrupt, checksums, read_bytes
from normcore.spec.tasks.handwriting import ALPHABET, OTHER

STROKES_FILE, LINES_FILE = "iam_ondb_strokes.npz", "iam_ondb_lines.tsv"
TRAIN, VALID = ("trainset", "testset_f", "testset_t"), ("testset_v",)
"""Graves trains on all sets but the smaller validation set, and stops training by that set."""


@dataclass(frozen=True, slots=True)
class Handwriting:
    """Lines of handwriting in two splits.

    Attributes:
        mean, deviation: mean and standard deviation (2) of the offsets (dx, dy) of the training lines.
        checksums: digests of the files that were read.
    """

    train: Sequence[HandwrittenLine]
    valid: Sequence[HandwrittenLine]
    mean: Tensor
    deviation: Tensor
    checksums: Mapping[str, str]

    def first(self, examples: int) -> "Handwriting":
        """Limit each split to its first ``examples`` lines."""
        return replace(self, train=self.train[:examples], valid=self.valid[:examples])

    def standardize_line(self, line: HandwrittenLine, points: int) -> Tensor:
        """The line's first ``points`` points. Offsets are scaled to mean 0 and deviation 1 over the training lines."""
        moves = (line.points[:points, :2] - self.mean) / self.deviation
        return torch.cat([moves, line.points[:points, 2:]], 1)


def load(name: str, datasets_dir: Path | None) -> Handwriting:
    """Read ``iam_ondb``, the data set as its makers publish it, or ``iam_ondb_packed``.

    Lines that are in no split are left out. Lines of one form are left out, too: its transcription lacks a line.

    Raises:
        DatasetMissing, DatasetCorrupt: a file is not there, or not what it should be.
    """
    if name == "iam_ondb":
        lines, digests = iam_ondb.read(datasets_dir)
    else:
        dataset = DATASETS[name]
        told = read_bytes(dataset, LINES_FILE, datasets_dir)
        lines = list(_unpack_lines(read_bytes(dataset, STROKES_FILE, datasets_dir), told.decode()))
        digests = dict(checksums(name))
    train, valid = ([line for split, line in lines if split in splits] for splits in (TRAIN, VALID))
    if not train or not valid:
        raise DatasetCorrupt(
            f"{name} has {len(train)} lines to train on and {len(valid)} to validate; download it again"
        )
    moves = torch.cat([line.points[:, :2] for line in train]).double()
    return Handwriting(train, valid, moves.mean(0).float(), moves.std(0).float(), digests)


def _unpack_lines(strokes: bytes, told: str) -> Iterator[tuple[str, HandwrittenLine]]:
    """Unpack the lines that have a transcription, each with its split."""
    with np.load(io.BytesIO(strokes), allow_pickle=False) as archive:
        moves, ends, starts = archive["dxy"], archive["eos"], archive["line_ptr"]
    for k, row in enumerate(lines_of(told)[1:]):
        name, split, text = row.split("\t")
        if text:
            part = slice(starts[k], starts[k + 1])
            points = np.concatenate([moves[part], ends[part, None]], 1, dtype=np.float32)
            yield split, HandwrittenLine(name, torch.from_numpy(points), text)


def encode_text(text: str) -> Tensor:
    """Encode a text as character codes (U). Digits and rare punctuation share one code.

    Raises:
        ValueError: a character is not printable ASCII.
    """
    strange = next((c for c in text if not " " <= c <= "~"), None)
    if strange is not None:
        raise ValueError(f"expected printable ASCII, received {strange!r}")
    return torch.tensor([ALPHABET.find(c) if c in ALPHABET else OTHER for c in text])

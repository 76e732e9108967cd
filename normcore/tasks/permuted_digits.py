"""The 8x8 digits, 64 pixels in one fixed random order."""

from pathlib import Path

import torch

from normcore.data import digits
from normcore.spec.tasks import PermutedDigits
from normcore.tasks.pixel_sequences import PixelSequences, permuted

POPULATION_BATCH = digits.TRAIN  # the whole training set: population statistics are exact


def build(task: PermutedDigits, datasets_dir: Path | None, device: torch.device, dtype: torch.dtype) -> PixelSequences:
    return PixelSequences(permuted(digits.load(), task), POPULATION_BATCH, device, dtype)

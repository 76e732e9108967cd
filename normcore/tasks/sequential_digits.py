"""The 8x8 digits, 64 pixels from top left to bottom right."""

from pathlib import Path

import torch

from normcore.data import digits
from normcore.spec.tasks import SequentialDigits
from normcore.tasks.pixel_sequences import PixelSequences

POPULATION_BATCH = digits.TRAIN  # the whole training set: population statistics are exact


def build(
    task: SequentialDigits, datasets_dir: Path | None, device: torch.device, dtype: torch.dtype
) -> PixelSequences:
    return PixelSequences(digits.load(), POPULATION_BATCH, device, dtype)

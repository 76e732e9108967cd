"""MNIST, 784 pixels from top left to bottom right (RBN section 5.1)."""

from pathlib import Path

import torch

from normcore.data import mnist
from normcore.spec.tasks import SequentialMNIST
from normcore.tasks.pixel_sequences import PixelSequences

POPULATION_BATCH = 5000  # ten batches, as in the authors' code


def build(task: SequentialMNIST, datasets_dir: Path | None, device: torch.device, dtype: torch.dtype) -> PixelSequences:
    return PixelSequences(mnist.load(datasets_dir), POPULATION_BATCH, device, dtype)

"""MNIST, 784 pixels in one fixed random order (RBN section 5.1)."""

from pathlib import Path

import torch

from normcore.data import mnist
from normcore.spec.tasks import PermutedMNIST
from normcore.tasks.pixel_sequences import PixelSequences, permuted

POPULATION_BATCH = 5000  # ten batches, as in the authors' code


def build(task: PermutedMNIST, datasets_dir: Path | None, device: torch.device, dtype: torch.dtype) -> PixelSequences:
    return PixelSequences(permuted(mnist.load(datasets_dir), task), POPULATION_BATCH, device, dtype)

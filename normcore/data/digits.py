"""The 8x8 digits that come with scikit-learn: 1,797 images of 64 pixels, grey levels 0 to 16.

They have no split of their own. Ours is one fixed shuffle, ``RandomState(0).permutation(1797)``, then 1,197 for
training, 300 for validation and 300 for testing; no setting changes it.
"""

import hashlib

import numpy as np
import torch
from sklearn.datasets import load_digits

from normcore.data.images import ImageSplits, LabelledImages

WHITE = 16
TRAIN, VALID, TEST = 1197, 300, 300


def load() -> ImageSplits:
    """Read and split the digits."""
    bunch = load_digits()
    pixels = bunch.data.astype(np.uint8)
    labels = bunch.target.astype(np.int64)
    checksum = hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
    order = np.random.RandomState(0).permutation(TRAIN + VALID + TEST)
    images = LabelledImages(torch.from_numpy(pixels[order]), torch.from_numpy(labels[order]), WHITE)
    return ImageSplits(
        train=images[:TRAIN],
        valid=images[TRAIN : TRAIN + VALID],
        test=images[TRAIN + VALID :],
        checksums={"digits": checksum},
    )

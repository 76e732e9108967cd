"""The 8x8 digits that come with scikit-learn: 1,797 images of 64 pixels, grey levels 0 to 16.

scikit-learn gives no split. Here the images are shuffled once by ``RandomState(0).permutation(1797)``: then 1,197
train, 300 validate and 300 test. No setting changes this split.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from normcore.data.checksums import checksums
from normcore.data.files import DatasetCorrupt
from normcore.data.images import ImageSplits, LabelledImages

WHITE = 16
SHAPE = (1, 8, 8)
TRAIN, VALID, TEST = 1197, 300, 300


def load() -> ImageSplits:
    """Read and split the digits.

    Raises:
        DatasetCorrupt: scikit-learn's copy of the digits differs from the genuine data.
    """
    table = _table()
    pixels, labels = table[:, :-1].astype(np.uint8), table[:, -1].astype(np.int64)
    found = {"digits": hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()}
    if found != checksums("digits"):
        raise DatasetCorrupt(
            "data set 'digits': scikit-learn's copy is not the genuine one (its SHA-256 differs);"
            " install scikit-learn again"
        )
    order = np.random.RandomState(0).permutation(TRAIN + VALID + TEST)
    images = LabelledImages(torch.from_numpy(pixels[order]), torch.from_numpy(labels[order]), WHITE, SHAPE)
    return ImageSplits(
        train=images[:TRAIN],
        valid=images[TRAIN : TRAIN + VALID],
        test=images[TRAIN + VALID :],
        checksums=found,
    )


def _table() -> np.ndarray:
    """Read one row for each image: its pixels and its label. scikit-learn's ``load_digits`` reads the same file.

    scikit-learn is not imported, as that takes a second: a worker that was killed must be back within three seconds.
    """
    installed = find_spec("sklearn")
    assert installed is not None
    assert installed.origin is not None
    return np.loadtxt(Path(installed.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")

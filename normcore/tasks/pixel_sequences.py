"""Tasks: classify images that are read pixel by pixel (RBN section 5.1). Common parts of the four pixel tasks.

Shapes: T pixels, B images in a batch.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from normcore.data import digits, mnist
from normcore.data.images import ImageSplits, LabelledImages
from normcore.models.build import Build
from normcore.models.classifier import SequenceClassifier
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks.pixels import PermutedPixels, PixelSequence
from normcore.tasks.labelled_images import NUM_CLASSES, LabelledImagesTask
from normcore.tasks.task import Resources

IMAGES: Mapping[str, Callable[[Path | None], ImageSplits]] = {"digits": lambda _: digits.load(), "mnist": mnist.load}
POPULATION_BATCH = {
    "digits": digits.TRAIN,  # the whole training set: population statistics are exact
    "mnist": 5000,  # ten batches, as in the authors' code
}


class PixelSequences(LabelledImagesTask):
    """Task of classifying images that are read one pixel at each step.

    Deviation: validation batches have up to 1,000 images; the authors' have the size of training batches. Larger
    batches have less noisy statistics and take less time.

    Args:
        splits: images that were read already; None reads the images that the options name.
    """

    no_skill = 1 / NUM_CLASSES

    def __init__(self, options: PixelSequence, resources: Resources, splits: ImageSplits | None = None) -> None:
        if splits is None:
            splits = IMAGES[options.images](resources.datasets_dir)
        if options.examples is not None:
            splits = splits.first(options.examples)
        if isinstance(options, PermutedPixels):
            splits = permute_pixels(splits, options)
        super().__init__(splits, options.title, resources)
        self._population_batch = POPULATION_BATCH[options.images]

    def model(self, build: Build) -> nn.Module:
        assert isinstance(build.options, RecurrentModel)
        return SequenceClassifier(build.recurrent(build.options, 1), NUM_CLASSES)

    def logits(self, model: nn.Module, images: LabelledImages) -> Tensor:
        logits: Tensor = model(images.sequences(self._resources.dtype))
        return logits

    def population(self) -> Iterator[LabelledImages]:
        return self._in_batches(self._train, self._population_batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        scores = self._score(model, self._valid)
        return {"loss": scores.loss, "accuracy": scores.accuracy}

    def test(self, model: nn.Module) -> dict[str, float]:
        return {"accuracy": self._score(model, self._test).accuracy}


def permute_pixels(splits: ImageSplits, options: PermutedPixels) -> ImageSplits:
    """Reorder the pixels of all images: one random order, drawn from ``permutation_seed``."""
    order = pixel_order(options, splits.train.pixels.shape[1])
    return ImageSplits(
        splits.train.in_order(order), splits.valid.in_order(order), splits.test.in_order(order), splits.checksums
    )


def pixel_order(options: PermutedPixels, length: int) -> Tensor:
    """Number of the pixel that is read at each step: (T,) int64.

    The order is a permutation, as the paper says. The authors' code draws pixels with replacement; the option
    ``legacy_index_map`` does the same.
    """
    random = np.random.RandomState(options.permutation_seed)  # NumPy guarantees that its streams never change
    order = random.randint(0, length, length) if options.legacy_index_map else random.permutation(length)
    return torch.from_numpy(order.astype(np.int64))

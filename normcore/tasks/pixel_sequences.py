"""Images read one pixel a step, then classified (RBN section 5.1): what the four pixel tasks share.

T pixels, B images in a batch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data import digits, mnist
from normcore.data.images import ImageSplits, LabelledImages
from normcore.models.build import Build
from normcore.models.classifier import SequenceClassifier
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks.pixels import Permuted, PixelSequence
from normcore.tasks.classification import Scores, confusion_figure
from normcore.tasks.task import Loss, Resources, even_batches, shuffled

NUM_CLASSES = 10
EVALUATION_BATCH = 1000
IMAGES: Mapping[str, Callable[[Path | None], ImageSplits]] = {"digits": lambda _: digits.load(), "mnist": mnist.load}
POPULATION_BATCH = {
    "digits": digits.TRAIN,  # the whole training set: population statistics are exact
    "mnist": 5000,  # ten batches, as in the authors' code
}


class PixelSequences:
    """Classify images from their pixels, one a step.

    The authors validate in batches as large as those in training; ours are of up to 1,000, whose statistics are less
    noisy and whose passes are faster.

    Args:
        splits: the images, already read; None reads those that the options name.
    """

    no_skill = 1 / NUM_CLASSES

    def __init__(self, options: PixelSequence, resources: Resources, splits: ImageSplits | None = None) -> None:
        if splits is None:
            splits = IMAGES[options.images](resources.datasets_dir)
        if isinstance(options, Permuted):
            splits = permuted(splits, options)
        self.checksums: Mapping[str, str] = splits.checksums
        self._train, self._valid, self._test = (
            s.to(resources.device) for s in (splits.train, splits.valid, splits.test)
        )
        self._population_batch = POPULATION_BATCH[options.images]
        self._title = options.title
        self._resources = resources

    def model(self, build: Build) -> nn.Module:
        assert isinstance(build.options, RecurrentModel)
        return SequenceClassifier(build.recurrent(build.options, 1), NUM_CLASSES)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffled(torch.arange(len(self._train)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> LabelledImages:
        return self._train[examples.to(self._resources.device, non_blocking=True)]

    def loss(self, model: nn.Module, batch: LabelledImages) -> Loss:
        return Loss(F.cross_entropy(self._logits(model, batch), batch.labels))

    def population(self) -> Iterator[LabelledImages]:
        examples = torch.arange(len(self._train), device=self._resources.device)
        return (self._train[some] for some in even_batches(examples, self._population_batch))

    def observe(self, model: nn.Module, batch: LabelledImages) -> None:
        self._logits(model, batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        scores = self._score(model, self._valid)
        return {"loss": scores.loss, "accuracy": scores.accuracy}

    def test(self, model: nn.Module) -> dict[str, float]:
        return {"accuracy": self._score(model, self._test).accuracy}

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        return confusion_figure(lambda: self._score(model, self._test), self._title)

    def _logits(self, model: nn.Module, batch: LabelledImages) -> Tensor:
        logits: Tensor = model(batch.sequences(self._resources.dtype))  # (B, 10)
        return logits

    def _score(self, model: nn.Module, images: LabelledImages) -> Scores:
        scores = Scores(NUM_CLASSES, self._resources.device)
        for examples in even_batches(torch.arange(len(images), device=self._resources.device), EVALUATION_BATCH):
            scores.add(self._logits(model, images[examples]), images.labels[examples])
        return scores


def permuted(splits: ImageSplits, options: Permuted) -> ImageSplits:
    """All images with their pixels in the order that ``permutation_seed`` draws."""
    order = pixel_order(options, splits.train.pixels.shape[1])
    return ImageSplits(
        splits.train.in_order(order), splits.valid.in_order(order), splits.test.in_order(order), splits.checksums
    )


def pixel_order(options: Permuted, length: int) -> Tensor:
    """(T,) int64: which pixel is read at each step.

    A permutation, as the paper says; the authors' code draws with replacement, which ``legacy_index_map`` repeats.
    """
    random = np.random.RandomState(options.permutation_seed)  # its streams are frozen for good
    order = random.randint(0, length, length) if options.legacy_index_map else random.permutation(length)
    return torch.from_numpy(order.astype(np.int64))

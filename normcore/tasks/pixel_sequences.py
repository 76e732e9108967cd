"""Images read one pixel a step, then classified (RBN section 5.1): what the four pixel tasks share.

T pixels, B images in a batch.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data.images import ImageSplits, LabelledImages
from normcore.models.assembly import MakeRecurrent
from normcore.models.classifier import SequenceClassifier
from normcore.spec.tasks.pixels import Permuted
from normcore.tasks.task import even_batches

NUM_CLASSES = 10
EVALUATION_BATCH = 1000


class PixelSequences:
    """Classify images from their pixels, one a step.

    The authors validate in batches as large as those in training; ours are of up to 1,000, whose statistics are less
    noisy and whose passes are faster.

    Args:
        splits: the images, their pixels in the order in which they are read.
        population_batch: images whose statistics are taken together.
    """

    def __init__(self, splits: ImageSplits, population_batch: int, device: torch.device, dtype: torch.dtype) -> None:
        self.checksums: Mapping[str, str] = splits.checksums
        self._train, self._valid, self._test = (s.to(device) for s in (splits.train, splits.valid, splits.test))
        self._population_batch = population_batch
        self._device = device
        self._dtype = dtype

    def model(self, recurrent: MakeRecurrent) -> nn.Module:
        return SequenceClassifier(recurrent(1), NUM_CLASSES)

    def epoch(self, generator: torch.Generator) -> Tensor:
        return torch.randperm(len(self._train), generator=generator)

    def loss(self, model: nn.Module, examples: Tensor) -> Tensor:
        images = self._train[examples.to(self._device, non_blocking=True)]
        return F.cross_entropy(model(images.sequences(self._dtype)), images.labels)

    def validate(self, model: nn.Module) -> dict[str, float]:
        loss, accuracy = self._score(model, self._valid)
        return {"loss": loss, "accuracy": accuracy}

    def population(self) -> Iterator[Tensor]:
        for examples in even_batches(torch.arange(len(self._train), device=self._device), self._population_batch):
            yield self._train[examples].sequences(self._dtype)

    def test(self, model: nn.Module) -> float:
        return self._score(model, self._test)[1]

    def _score(self, model: nn.Module, images: LabelledImages) -> tuple[float, float]:
        """Mean loss in nats, and the share of images classified correctly."""
        loss = torch.zeros((), dtype=torch.float64, device=self._device)
        correct = torch.zeros((), dtype=torch.int64, device=self._device)
        for examples in even_batches(torch.arange(len(images), device=self._device), EVALUATION_BATCH):
            batch = images[examples]
            logits = model(batch.sequences(self._dtype))  # (B, 10)
            loss += F.cross_entropy(logits, batch.labels, reduction="sum")
            correct += (logits.argmax(-1) == batch.labels).sum()
        return loss.item() / len(images), correct.item() / len(images)


def permuted(splits: ImageSplits, task: Permuted) -> ImageSplits:
    """All images with their pixels in the order that ``task.permutation_seed`` draws."""
    order = pixel_order(task, splits.train.pixels.shape[1])
    return ImageSplits(
        splits.train.in_order(order), splits.valid.in_order(order), splits.test.in_order(order), splits.checksums
    )


def pixel_order(task: Permuted, length: int) -> Tensor:
    """(T,) int64: which pixel is read at each step.

    A permutation, as the paper says; the authors' code draws with replacement, which ``legacy_index_map`` repeats.
    """
    random = np.random.RandomState(task.permutation_seed)  # its streams are frozen for good
    order = random.randint(0, length, length) if task.legacy_index_map else random.permutation(length)
    return torch.from_numpy(order.astype(np.int64))

"""Common parts of all tasks that classify images.

Shapes: B images in a batch, C classes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data.images import ImageSplits, LabelledImages
from normcore.tasks.classification import Scores, confusion_figure
from normcore.tasks.task import Loss, Resources, even_batches, shuffle_into_batches

NUM_CLASSES = 10
EVALUATION_BATCH = 1000


class LabelledImagesTask(ABC):
    """Base of tasks that classify images: cross-entropy loss, scores of whole splits. Subclasses define ``logits``."""

    def __init__(self, splits: ImageSplits, title: str, resources: Resources) -> None:
        self.checksums: Mapping[str, str] = splits.checksums
        self._train, self._valid, self._test = (
            s.to(resources.device) for s in (splits.train, splits.valid, splits.test)
        )
        self._title = title
        self._resources = resources

    @abstractmethod
    def logits(self, model: nn.Module, images: LabelledImages) -> Tensor:
        """Apply the model to a batch of images: logits (B, C)."""

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffle_into_batches(torch.arange(len(self._train)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> LabelledImages:
        return self._train[examples.to(self._resources.device, non_blocking=True)]

    def loss(self, model: nn.Module, batch: LabelledImages) -> Loss:
        return Loss(F.cross_entropy(self.logits(model, batch), batch.labels))

    def observe(self, model: nn.Module, batch: LabelledImages) -> None:
        self.logits(model, batch)

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        return confusion_figure(lambda: self._score(model, self._test), self._title)

    def _score(self, model: nn.Module, images: LabelledImages) -> Scores:
        scores = Scores(NUM_CLASSES, self._resources.device)
        for batch in self._in_batches(images, EVALUATION_BATCH):
            scores.add(self.logits(model, batch), batch.labels)
        return scores

    def _in_batches(self, images: LabelledImages, size: int) -> Iterator[LabelledImages]:
        examples = torch.arange(len(images), device=self._resources.device)
        return (images[some] for some in even_batches(examples, size))

"""Whole images, classified (LN sections 6.6 and 6.7).

B images in a batch, of C channels and H x W places.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.data import cifar10, digits, mnist
from normcore.data.images import ImageSplits, LabelledImages
from normcore.data.whitening import Whitening
from normcore.figures import as_json
from normcore.figures.border import border_figure
from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.models.feed_forward import FeedForward
from normcore.spec.models import conv_net, feed_forward
from normcore.spec.tasks.images import Convnet
from normcore.spec.tasks.images import ImageClassification as Options
from normcore.tasks.border import BorderVariance
from normcore.tasks.classification import Scores, confusion_figure
from normcore.tasks.task import Loss, Resources, even_batches, shuffled

NUM_CLASSES = 10
EVALUATION_BATCH = 1000
POPULATION_EXAMPLES = 10_000  # the first of the training images; all would cost more than the updates between two looks
IMAGES: Mapping[str, Callable[[Path | None], ImageSplits]] = {
    "digits": lambda _: digits.load(),
    "mnist": lambda folder: mnist.load(folder, "first_5000_validate"),
    "cifar10": cifar10.load,
    "cifar10_subset": cifar10.load_subset,
}


class ImageClassification:
    """Classify images; training loss and test error by epoch.

    Args:
        splits: the images, already read; None reads those that the options name.
    """

    no_skill = 1 - 1 / NUM_CLASSES

    def __init__(self, options: Options, resources: Resources, splits: ImageSplits | None = None) -> None:
        if splits is None:
            splits = IMAGES[options.dataset](resources.datasets_dir)
        self.checksums: Mapping[str, str] = splits.checksums
        self._whitening: Whitening | None = None
        if isinstance(options, Convnet) and options.whitening:
            self._whitening = Whitening.fitted(splits.train).to(resources.device, resources.dtype)
        self._train, self._valid, self._test = (
            s.to(resources.device) for s in (splits.train, splits.valid, splits.test)
        )
        self._title = options.title
        self._resources = resources

    def model(self, build: Build) -> nn.Module:
        if isinstance(build.options, conv_net.ConvNet):
            return ConvNet(build, build.options, self._train.shape, NUM_CLASSES)
        assert isinstance(build.options, feed_forward.FeedForward)
        channels, height, width = self._train.shape
        return FeedForward(build, build.options, channels * height * width, NUM_CLASSES)

    def epoch(self, generator: torch.Generator, batch_size: int) -> Sequence[Tensor]:
        return shuffled(torch.arange(len(self._train)), batch_size, generator)

    def batch(self, examples: Tensor, generator: torch.Generator) -> LabelledImages:
        return self._train[examples.to(self._resources.device, non_blocking=True)]

    def loss(self, model: nn.Module, batch: LabelledImages) -> Loss:
        return Loss(F.cross_entropy(model(self._pixels(batch)), batch.labels))

    def population(self) -> Iterator[LabelledImages]:
        return self._in_pieces(self._train[:POPULATION_EXAMPLES])

    def observe(self, model: nn.Module, batch: LabelledImages) -> None:
        model(self._pixels(batch))

    def validate(self, model: nn.Module) -> dict[str, float]:
        with BorderVariance(model) as border:
            scores = self._score(model, self._valid)
        values = {"loss": scores.loss, "accuracy": scores.accuracy, "error_rate": 1 - scores.accuracy}
        return values | border.values()

    def test(self, model: nn.Module) -> dict[str, float]:
        accuracy = self._score(model, self._test).accuracy
        return {"error_rate": 1 - accuracy, "accuracy": accuracy}

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        files = dict(confusion_figure(lambda: self._score(model, self._test), self._title))
        if isinstance(model, ConvNet):
            files["figures/border_variance.json"] = lambda: self._border(model)
        return files

    @torch.no_grad()
    def _border(self, model: nn.Module) -> bytes:
        with BorderVariance(model) as border:
            self._score(model, self._valid)
        return as_json(border_figure(border.by_distance(), self._title))

    def _pixels(self, images: LabelledImages) -> Tensor:
        """(B, C, H, W), as the model sees them."""
        pixels = images.images(self._resources.dtype)
        return pixels if self._whitening is None else self._whitening(pixels)

    def _score(self, model: nn.Module, images: LabelledImages) -> Scores:
        scores = Scores(NUM_CLASSES, self._resources.device)
        for batch in self._in_pieces(images):
            scores.add(model(self._pixels(batch)), batch.labels)
        return scores

    def _in_pieces(self, images: LabelledImages) -> Iterator[LabelledImages]:
        examples = torch.arange(len(images), device=self._resources.device)
        return (images[some] for some in even_batches(examples, EVALUATION_BATCH))

"""Tasks: classify whole images (LN sections 6.6 and 6.7).

Shapes: B images in a batch, of C channels and H x W places.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

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
from normcore.tasks.labelled_images import EVALUATION_BATCH, NUM_CLASSES, LabelledImagesTask
from normcore.tasks.task import Resources

POPULATION_EXAMPLES = 10_000  # the first training images; all would cost more than the updates between evaluations
IMAGES: Mapping[str, Callable[[Path | None], ImageSplits]] = {
    "digits": lambda _: digits.load(),
    "mnist": lambda folder: mnist.load(folder, "first_5000_validate"),
    "cifar10": cifar10.load,
    "cifar10_subset": cifar10.load_subset,
}


class ImageClassification(LabelledImagesTask):
    """Task of classifying whole images.

    Args:
        splits: images that were read already; None reads the images that the options name.
    """

    no_skill = 1 - 1 / NUM_CLASSES

    def __init__(self, options: Options, resources: Resources, splits: ImageSplits | None = None) -> None:
        if splits is None:
            splits = IMAGES[options.dataset](resources.datasets_dir)
        self._whitening: Whitening | None = None
        if isinstance(options, Convnet) and options.whitening:
            self._whitening = Whitening.fit_to_images(splits.train).to(resources.device, resources.dtype)
        super().__init__(splits, options.title, resources)

    def model(self, build: Build) -> nn.Module:
        if isinstance(build.options, conv_net.ConvNet):
            return ConvNet(build, build.options, self._train.shape, NUM_CLASSES)
        assert isinstance(build.options, feed_forward.FeedForward)
        channels, height, width = self._train.shape
        return FeedForward(build, build.options, channels * height * width, NUM_CLASSES)

    def logits(self, model: nn.Module, images: LabelledImages) -> Tensor:
        pixels = images.images(self._resources.dtype)  # (B, C, H, W)
        logits: Tensor = model(pixels if self._whitening is None else self._whitening(pixels))
        return logits

    def population(self) -> Iterator[LabelledImages]:
        return self._in_batches(self._train[:POPULATION_EXAMPLES], EVALUATION_BATCH)

    def validate(self, model: nn.Module) -> dict[str, float]:
        with BorderVariance(model) as border:
            scores = self._score(model, self._valid)
        values = {"loss": scores.loss, "accuracy": scores.accuracy, "error_rate": 1 - scores.accuracy}
        return values | border.values()

    def test(self, model: nn.Module) -> dict[str, float]:
        accuracy = self._score(model, self._test).accuracy
        return {"error_rate": 1 - accuracy, "accuracy": accuracy}

    def artifacts(self, model: nn.Module) -> Mapping[str, Callable[[], bytes]]:
        files = dict(super().artifacts(model))
        if isinstance(model, ConvNet):
            files["figures/border_variance.json"] = lambda: self._border(model)
        return files

    @torch.no_grad()
    def _border(self, model: nn.Module) -> bytes:
        with BorderVariance(model) as border:
            self._score(model, self._valid)
        return as_json(border_figure(border.by_distance(), self._title))

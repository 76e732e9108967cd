"""Classification of whole images, by feed-forward and by convolutional networks."""

import math
from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.methods.method import Method
from normcore.spec.metric import ACCURACY, ERROR_RATE, Metric
from normcore.spec.models.conv_net import ConvNet
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Cost, Model
from normcore.spec.part import Misfit
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean

SHAPES = {"digits": (1, 8, 8), "mnist": (1, 28, 28), "cifar10": (3, 32, 32), "cifar10_subset": (3, 32, 32)}
TEST_IMAGES = {"digits": 300, "mnist": 10_000, "cifar10": 10_000, "cifar10_subset": 1_000}
ADAM = {"optimizer": {"name": "adam", "lr": 1e-3}, "clip_norm": None}
BATCH_NORM_EVERYWHERE = {"batch_norm": {"sites": ("layer", "output")}}
"""LN section 6.6: "batch normalization is applied to all layers", the logits too; LN to the hidden ones alone."""
FEWEST = {"digits": 1_197, "mnist": 50_000, "cifar10": 40_000, "cifar10_subset": 1_000}
"""Training examples, at least."""


class ImageClassification(Benchmark):
    """Classify whole images. On validation and test data, batch norms use population statistics, averaged over up to
    10,000 training images."""

    home: ClassVar[str] = "normcore.tasks.image_classification:ImageClassification"
    metrics: ClassVar[tuple[Metric, ...]] = (ERROR_RATE, ACCURACY)
    validates_with: ClassVar[Literal["batch", "population"]] = "population"

    dataset: str

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.dataset, "dataset"),)

    def least_examples(self) -> int:
        return FEWEST[self.dataset]

    def test_items(self, metric: str) -> int | None:
        return TEST_IMAGES[self.dataset] if metric in (ERROR_RATE.name, ACCURACY.name) else None

    def cost(self, model: Model) -> Cost | None:
        shape = SHAPES[self.dataset]
        if isinstance(model, ConvNet):
            return model.cost(shape, 10)
        return model.cost(math.prod(shape), 10) if isinstance(model, FeedForward) else None


class Feedforward(ImageClassification):
    """Classify images as vectors of pixels. The order of the pixels does not matter to the model. The curves are
    training loss and test error by epoch."""

    title: ClassVar[str] = "Permutation-invariant images"
    citation: ClassVar[str] = "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.6"
    model: ClassVar[type[Model]] = FeedForward
    selection: ClassVar[Best | LastMean] = LastMean(5, all_tested=True)
    profiles: ClassVar = {
        "paper": Profile(
            "LN section 6.6: MNIST, 784-1000-1000-10, minibatches of 128. For the other half of Fig. 6 give batch_size"
            " 4, max_steps 825000, eval_every 13750, and batch norm's variance: unbiased. The learning rate, ReLU, He"
            " initialization and 60 epochs are ours; the paper names none.",
            task={"dataset": "mnist"},
            model={"hidden_sizes": (1000, 1000)},
            training={**ADAM, "batch_size": 128, "max_steps": 25_800, "eval_every": 430, "target": 0.02},
            norm={**BATCH_NORM_EVERYWHERE, "group_norm": {"groups": 40}},
        ),
        "small": Profile(
            "The first two epochs of the paper's training: under a minute on one core. Expected order, seen in seeds 0,"
            " 1 and 2: batch_norm, none, layer_norm. In minibatches of 4 (batch_size 4, max_steps 27520, eval_every"
            " 2752, batch norm's variance: unbiased; some minutes), as seen: layer_norm, none, batch_norm.",
            task={"dataset": "mnist"},
            model={"hidden_sizes": (1000, 1000)},
            training={**ADAM, "batch_size": 128, "max_steps": 860, "eval_every": 86, "target": 0.03},
            norm={**BATCH_NORM_EVERYWHERE, "group_norm": {"groups": 40}},
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "digits"},
            model={"hidden_sizes": (32, 32)},
            training={**ADAM, "batch_size": 32, "max_steps": 40, "eval_every": 10, "target": 0.5},
            norm={**BATCH_NORM_EVERYWHERE, "group_norm": {"groups": 4}},
        ),
    }

    name: Literal["feedforward"] = "feedforward"
    dataset: Literal["digits", "mnist"] = Field("mnist", description="Which images.")


class Convnet(ImageClassification):
    """Classify images by a convolutional network."""

    title: ClassVar[str] = "Convolutional network"
    citation: ClassVar[str] = (
        "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.7, which states no protocol; the network and training of"
        " Salimans and Kingma 2016, arXiv:1602.07868"
    )
    model: ClassVar[type[Model]] = ConvNet
    selection: ClassVar[Best | LastMean] = LastMean(5)
    profiles: ClassVar = {
        "paper": Profile(
            "CIFAR-10, whitened; 200 epochs of 45,000 images, for 5,000 validate; the learning rate falls to 0 in the"
            " second half.",
            task={"dataset": "cifar10", "whitening": True},
            model={"stage_channels": (96, 192), "stage_depth": 3, "head_channels": 192},
            training={
                **ADAM,
                "schedule": {"name": "linear_decay", "start": 45_000, "beta1": 0.5},
                "batch_size": 100,
                "max_steps": 90_000,
                "eval_every": 450,
                "target": 0.10,
            },
        ),
        "small": Profile(
            "MNIST, a twelfth of the channels: under a minute on one core. Expected order, seen in seeds 0, 1 and 2:"
            " batch_norm, layer_norm, none.",
            task={"dataset": "mnist", "whitening": False},
            model={"stage_channels": (8, 16), "stage_depth": 1, "head_channels": 16, "dropout": 0.0},
            training={**ADAM, "batch_size": 100, "max_steps": 300, "eval_every": 20, "target": 0.30},
            norm={"group_norm": {"groups": 4}},
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "digits", "whitening": False},
            model={"stage_channels": (4,), "stage_depth": 1, "head_channels": 4, "dropout": 0.0},
            training={**ADAM, "batch_size": 32, "max_steps": 20, "eval_every": 5, "target": 0.85},
            norm={"group_norm": {"groups": 2}},
        ),
    }

    name: Literal["convnet"] = "convnet"
    dataset: Literal["digits", "mnist", "cifar10", "cifar10_subset"] = Field("cifar10", description="Which images.")
    whitening: bool = Field(
        False, description="Whiten the pixels by ZCA, with the statistics of the training images (Krizhevsky 2009)."
    )

    def misfit(self, model: Model) -> Misfit | None:
        if not isinstance(model, ConvNet):
            return super().misfit(model)
        left = self._compute_width_left(model)
        if left < 3:
            message = (
                f"each stage halves the {SHAPES[self.dataset][1]} pixels of {self.dataset}, and 3 or more must be left"
            )
            return Misfit("stage_channels", f"{message}; use fewer stages")
        return None

    def pointless(self, model: Model, norm: Method) -> Misfit | None:
        if not isinstance(model, ConvNet) or not norm.stands_at("layer"):
            return None
        if self._compute_width_left(model) - 2 == 1 and norm.erases(model.head_channels):
            one = f"after {len(model.stage_channels)} stages and a 3x3 convolution one place of {self.dataset} is left"
            return Misfit("dataset", f"{one}, where {norm.method} is 0 whatever its input is; use fewer stages")
        return None

    def _compute_width_left(self, model: ConvNet) -> int:
        """Compute how many pixels a row of the image has after all stages."""
        return SHAPES[self.dataset][1] >> len(model.stage_channels)

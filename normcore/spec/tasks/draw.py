"""Generating images with DRAW (LN section 6.4)."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.metric import NATS, Metric
from normcore.spec.models.draw import DrawModel
from normcore.spec.models.model import Cost, Model
from normcore.spec.part import Misfit
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean, count_taken

SIDES = {"binarized_mnist": 28, "mnist_bits": 28, "digits": 8}
ADAM = {"optimizer": {"name": "adam", "lr": 1e-3}, "clip_norm": 10.0}
FEWEST = {"binarized_mnist": 50_000, "mnist_bits": 1_000, "digits": 1_000}
"""Training examples, at least."""


class Draw(Benchmark):
    """Encode binary images into latent numbers, and paint the images again. The metric is the variational bound, as a
    mean over the test images."""

    title: ClassVar[str] = "DRAW: binary images"
    citation: ClassVar[str] = (
        "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.4; Gregor et al. 2015, arXiv:1502.04623"
    )
    home: ClassVar[str] = "normcore.tasks.draw:DrawTask"
    model: ClassVar[type[Model]] = DrawModel
    metrics: ClassVar[tuple[Metric, ...]] = (NATS,)
    selection: ClassVar[Best | LastMean] = LastMean(1)  # the paper reports the last model, and selects none
    profiles: ClassVar = {
        "paper": Profile(
            "LN section 6.4 with DRAW's Table 3: 64 glimpses, 256 units, 200 epochs. Clipping, the initial weights and"
            " Adam's step are ours; the paper names none.",
            task={"dataset": "binarized_mnist", "examples": None},
            model={"hidden_size": 256, "latent_size": 100, "glimpses": 64, "read_size": 2, "write_size": 5},
            training={**ADAM, "batch_size": 128, "max_steps": 78_200, "eval_every": 391, "target": 85.0},
        ),
        "small": Profile(
            "The same images, 10 glimpses and 128 units: 2 to 4 minutes on one core.",
            task={"dataset": "mnist_bits", "examples": 2000},
            model={"hidden_size": 128, "latent_size": 20, "glimpses": 10, "read_size": 3, "write_size": 5},
            training={**ADAM, "batch_size": 64, "max_steps": 2000, "eval_every": 100, "target": 195.0},
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "digits", "examples": 100},
            model={"hidden_size": 16, "latent_size": 4, "glimpses": 3, "read_size": 2, "write_size": 3},
            training={**ADAM, "batch_size": 16, "max_steps": 20, "eval_every": 5, "target": 30.0},
        ),
    }

    name: Literal["draw"] = "draw"
    dataset: Literal["binarized_mnist", "mnist_bits", "digits"] = Field(
        "binarized_mnist",
        description="Which images: MNIST in its fixed binarization, the same from one packed file, or scikit-learn's"
        " 8x8 digits, whose upper half of grey levels is 1.",
    )
    examples: int | None = Field(
        None,
        ge=100,
        description="Use at most the first N validation images, and N test images; null uses all. Test images of"
        " MNIST are sorted by class, so they are taken at equal distances.",
    )

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.dataset, "dataset"),)

    def misfit(self, model: Model) -> Misfit | None:
        side = SIDES[self.dataset]
        for field in ("read_size", "write_size"):
            size = getattr(model, field, 0)
            if size > side:
                return Misfit(field, f"{self.dataset} has images of {side} x {side} pixels; use {side} or less")
        return super().misfit(model)

    def least_examples(self) -> int:
        return count_taken(FEWEST[self.dataset], self.examples)

    def cost(self, model: Model) -> Cost | None:
        return model.cost(SIDES[self.dataset]) if isinstance(model, DrawModel) else None

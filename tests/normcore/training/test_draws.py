"""Random draws of a task for each batch continue after a checkpoint without a gap or a repetition."""

from typing import ClassVar, cast

import torch
from torch import Tensor

from normcore.data.images import LabelledImages
from normcore.events import Measured, Stepped
from normcore.spec import TrainingSpec, resolve
from normcore.spec.tasks.pixels import SequentialDigits
from normcore.tasks.pixel_sequences import PixelSequences
from normcore.training.loop import train

STEPS, STOPPED_AT = 8, 5


class ShuffledLabels(SequentialDigits):
    """Digits with new random labels in each batch."""

    home: ClassVar[str] = f"{__name__}:Drawing"


class Drawing(PixelSequences):
    def batch(self, examples: Tensor, generator: torch.Generator) -> LabelledImages:
        images = super().batch(examples, generator)
        labels = torch.randint(10, (len(images),), generator=generator)
        return LabelledImages(images.pixels, labels, images.white, images.shape)


def spec() -> TrainingSpec:
    training = {"max_steps": STEPS, "eval_every": STEPS}
    resolved = resolve({"task": {"name": "sequential_digits", "profile": "smoke"}, "training": training})
    return cast(TrainingSpec, resolved).model_copy(update={"task": ShuffledLabels(profile="smoke")})


def test_resumed_run_draws_the_same_numbers_as_an_uninterrupted_run() -> None:
    checkpoint, measured = b"", []
    for event in train(spec(), 0):
        if isinstance(event, Stepped) and event.step == STOPPED_AT:
            checkpoint = event.checkpoint()
        elif isinstance(event, Measured):
            measured.append(event.values)
    resumed = [event.values for event in train(spec(), 0, checkpoint=checkpoint) if isinstance(event, Measured)]
    assert measured
    assert resumed == measured

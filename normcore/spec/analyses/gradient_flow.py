"""Gradient flow."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from normcore.spec.analyses.analysis import FLOAT64, ONE_LAYER, RBN, Analysis, Memory
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import each_once
from normcore.spec.task import Need, Profile

PIXELS: Mapping[str, int] = {"digits": 64, "mnist": 784}  # of an image, one a step
CLASSES = 10
Gain = Annotated[float, Field(gt=0, le=1e3)]


class GradientFlow(Analysis):
    """Measure the gradient norm at every time step of an untrained network that reads images pixel by pixel, for
    several gains. Also compute the mean derivative of tanh for normally distributed summed inputs.
    """

    title: ClassVar[str] = "Gradient flow"
    citation: ClassVar[str] = f"{RBN}, section 4 and Fig. 1"
    x: ClassVar[str] = "time step"
    model: ClassVar[type[Model] | None] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    may_look_ahead: ClassVar[bool] = False
    profiles: ClassVar = {
        "paper": Profile(
            description="Fig. 1a: 100 MNIST digits of 784 steps.",
            task={"images": "mnist", "cases": 100, "gains": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **ONE_LAYER},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
        "small": Profile(
            description="100 of scikit-learn's digits, 64 steps: seconds.",
            task={"images": "digits", "cases": 100, "gains": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **ONE_LAYER},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"images": "digits", "cases": 10, "gains": (0.1, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **ONE_LAYER, "hidden_size": 16},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
    }

    name: Literal["gradient_flow"] = "gradient_flow"
    images: Literal["digits", "mnist"] = Field("digits", description="One pixel a step, from top left to bottom right.")
    cases: int = Field(100, ge=2, le=1000, description="Number of images, in one batch.")
    gains: Annotated[tuple[Gain, ...], each_once("gain")] = Field(
        (),
        strict=False,
        max_length=100,
        description="Initial gains to measure, for methods with gain_init; empty for the norm's own gain.",
    )

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.images, "images"),)

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory | None:
        """Compute the memory at the end of the forward pass. Gradients of parameters are never computed."""
        cost = cast(RecurrentModel, model).with_readout(1, PIXELS[self.images], CLASSES, read=1)
        return cost and Memory(weights=FLOAT64 * cost.parameters, backward=FLOAT64 * cost.kept * self.cases)

"""Hidden dynamics."""

from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field, PositiveFloat

from normcore.spec.analyses.analysis import FLOAT32, FLOAT64, LN, ONE_LAYER, Analysis, Memory, one_size
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import each_once

STEPS, CASES = 20, 100


class HiddenDynamics(Analysis):
    """Measure how the summed inputs of an untrained network grow from step to step."""

    title: ClassVar[str] = "Hidden dynamics"
    citation: ClassVar[str] = f"{LN}, section 3.1"
    x: ClassVar[str] = "time step"
    model: ClassVar[type[Model] | None] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    profiles: ClassVar = one_size(
        "20 steps after one small input, four scales of W_h.",
        model={"cell": "rnn", "recurrent_init": "orthogonal", **ONE_LAYER},
    )

    name: Literal["hidden_dynamics"] = "hidden_dynamics"
    weight_scales: Annotated[tuple[PositiveFloat, ...], each_once("scale")] = Field(
        (0.5, 1.0, 1.5, 2.0),
        strict=False,
        min_length=1,
        max_length=100,
        description="Factors by which W_h is multiplied.",
    )

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory | None:
        """Compute the memory at the end of a forward pass. The network and its input exist twice: as drawn, and in
        float64. The states of all steps exist in float64."""
        network = cast(RecurrentModel, model)
        cost, states = network.cost(network.hidden_size, STEPS), STEPS * CASES * network.hidden_size
        twice = FLOAT32 + FLOAT64
        return cost and Memory(
            weights=twice * cost.parameters, backward=FLOAT64 * states, data=twice * states, on_cpu=True
        )

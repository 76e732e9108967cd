"""Cost of a training step."""

from typing import ClassVar, Literal, cast

from pydantic import Field

from normcore.spec.analyses.analysis import FLOAT32, ONE_LAYER, Analysis, Memory, one_size
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.task import Profile


class StepCost(Analysis):
    """Measure the cost of a training step relative to a step without normalization. Both kinds of steps are timed in
    turns, as interleaved pairs."""

    title: ClassVar[str] = "Cost of a training step"
    citation: ClassVar[str] = "normbench"
    model: ClassVar[type[Model] | None] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    profiles: ClassVar = {
        **one_size(
            "64 steps, 64 cases, 100 units: the shape of permuted_digits.",
            task={"num_steps": 64, "batch_size": 64},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **ONE_LAYER},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"num_steps": 8, "batch_size": 8},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **ONE_LAYER, "hidden_size": 16},
        ),
    }

    name: Literal["step_cost"] = "step_cost"
    num_steps: int = Field(64, ge=1, le=10_000, description="Length of the sequences.")
    batch_size: int = Field(64, ge=2, le=100_000)

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory | None:
        """Compute the memory at the end of a forward pass. There are two networks and two optimizers, and the network
        that waits for its turn has its gradients."""
        cost = cast(RecurrentModel, model).cost(1, self.num_steps)
        if cost is None:
            return None
        weights = FLOAT32 * cost.parameters
        kept = FLOAT32 * cost.kept * self.batch_size
        return Memory(2 * weights, gradients=weights, optimizer=2 * weights, backward=kept)

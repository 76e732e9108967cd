"""Smallest batch."""

from typing import ClassVar, Literal, cast

from pydantic import Field

from normcore.spec.analyses.analysis import FLOAT32, ONE_LAYER, Analysis, Memory, one_size
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.task import Need, Profile

ROWS, PIXELS_PER_ROW, CLASSES = 8, 8, 10  # of the digits; a row is a step
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)


class SmallestBatch(Analysis):
    """Find the smallest minibatch with which a method can train. The network reads digits row by row, and makes equally
    many updates at each batch size."""

    title: ClassVar[str] = "Smallest batch"
    citation: ClassVar[str] = "normbench"
    x: ClassVar[str] = "batch size"
    model: ClassVar[type[Model] | None] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    profiles: ClassVar = {
        **one_size(
            "600 updates of 32 units at each of seven sizes: half a minute.",
            task={"updates": 600},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **ONE_LAYER, "hidden_size": 32},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"updates": 5},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **ONE_LAYER, "hidden_size": 8},
        ),
    }

    name: Literal["smallest_batch"] = "smallest_batch"
    updates: int = Field(
        600, ge=1, le=1_000_000, description="Updates with each batch size, always from the same weights."
    )

    def needs(self) -> tuple[Need, ...]:
        return (Need("digits"),)

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory | None:
        """Compute the memory at the end of the last forward pass with the largest batch. From the second update on,
        the gradients of the update before still exist."""
        cost = cast(RecurrentModel, model).with_readout(PIXELS_PER_ROW, ROWS, CLASSES, read=1)
        if cost is None:
            return None
        weights = FLOAT32 * cost.parameters
        kept = weights if self.updates > 1 else 0
        return Memory(
            weights, gradients=kept, optimizer=kept, backward=FLOAT32 * cost.kept * max(BATCH_SIZES), on_cpu=True
        )

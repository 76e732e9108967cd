"""Smallest batch."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.analyses.analysis import ONE_LAYER, Analysis, one_size
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.task import Need, Profile


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

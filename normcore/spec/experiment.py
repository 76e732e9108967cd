"""A whole spec: what one experiment asks for, and the fingerprint of everything that decides its result."""

import hashlib
import json
from collections.abc import Collection
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from normcore.spec.methods import Norm
from normcore.spec.model import Model
from normcore.spec.part import Part
from normcore.spec.tasks import AnyTask
from normcore.spec.training import Training

HASHED = ("task", "model", "norm", "training")
MAX_SEED = 2**31 - 1
MAX_SEEDS = 1000
MAX_LABELS = 32


def contradiction(message: str, *loc: str) -> PydanticCustomError:
    """An error about two fields that do not go together, reported at ``loc``."""
    return PydanticCustomError("contradiction", message, {"loc": list(loc)})


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("printable", "use printable characters only")
    return text


LabelKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.\-]{1,64}$")]
LabelValue = Annotated[str, StringConstraints(max_length=256), AfterValidator(_printable)]


class ExperimentSpec(Part):
    """A validated, resolved spec. ``normcore.spec.resolve`` makes one from what a user wrote."""

    task: AnyTask
    model: Model
    norm: Norm
    training: Training
    seeds: list[Annotated[int, Field(ge=0, le=MAX_SEED)]] = Field([0], min_length=1, max_length=MAX_SEEDS)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    priority: int = Field(5, ge=0, le=9, description="9 goes first.")
    labels: dict[LabelKey, LabelValue] = Field(default={}, max_length=MAX_LABELS)

    @field_validator("seeds")
    @classmethod
    def seeds_differ(cls, seeds: list[int]) -> list[int]:
        if len(set(seeds)) < len(seeds):
            raise PydanticCustomError("duplicate", "give every seed once")
        return seeds

    @model_validator(mode="after")
    def parts_go_together(self) -> Self:
        if self.norm.needs_batch and self.training.batch_size < 2:
            raise contradiction(
                f"{self.norm.method} takes its statistics over the batch; use 2 or more", "training", "batch_size"
            )
        if self.model.bidirectional and not self.task.may_look_ahead:
            raise contradiction(
                f"{self.task.name} predicts what comes next, so nothing may read backwards; use false",
                "model",
                "bidirectional",
            )
        misfit = self.norm.misfit(self.model.cell)
        if misfit is not None:
            field, message = misfit
            raise contradiction(message, "norm", field)
        if self.training.kernel == "fused":
            raise contradiction(
                f"there is no fused kernel for {self.model.cell} with {self.norm.method}; use auto or reference",
                "training",
                "kernel",
            )
        return self

    def fingerprint(self, without: Collection[str] = ()) -> str:
        """SHA-256 over the canonical JSON of task, model, norm and training, less the parts in ``without``."""
        return digest(self.model_dump(mode="json", include=set(HASHED) - set(without)))


def digest(value: Any) -> str:
    """SHA-256 of canonical JSON: sorted keys, no white space, shortest round-trip floats."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()

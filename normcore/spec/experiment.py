"""A whole spec: what one experiment asks for, and the fingerprint of everything that decides its result."""

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator
from pydantic_core import PydanticCustomError

from normcore.spec.messages import Form
from normcore.spec.methods import Norm
from normcore.spec.model import Model
from normcore.spec.part import Part
from normcore.spec.tasks import AnyAnalysis, AnyBenchmark, Kind, Task
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


LabelKey = Annotated[
    str, Form(r"^[A-Za-z0-9_.\-]{1,64}$", "use 1 to 64 characters out of A-Z, a-z, 0-9, '_', '.' and '-'")
]
LabelValue = Annotated[str, StringConstraints(max_length=256), AfterValidator(_printable)]


class ExperimentSpec(Part):
    """A validated, resolved spec: a ``TrainingSpec`` or an ``AnalysisSpec``. ``normcore.spec.resolve`` makes one from
    what a user wrote."""

    kind: Kind
    task: Task
    model: Model | None
    norm: Norm | None
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
    def norm_fits_the_model(self) -> Self:
        if self.model is None or self.norm is None:
            return self
        if self.model.bidirectional and not self.task.may_look_ahead:
            raise contradiction(
                f"{self.task.name} goes from the first step to the last, so nothing may read backwards; use false",
                "model",
                "bidirectional",
            )
        misfit = self.norm.misfit(self.model.cell)
        if misfit is not None:
            field, message = misfit
            raise contradiction(message, "norm", field)
        return self

    @property
    def max_steps(self) -> int:
        """How many steps a run has, as far as one knows before it begins."""
        raise NotImplementedError

    def fingerprint(self, without: Collection[str] = ()) -> str:
        """SHA-256 over the canonical JSON of task, model, norm and training, less the parts in ``without``."""
        return digest(self.model_dump(mode="json", include=set(HASHED) - set(without)))


class TrainingSpec(ExperimentSpec):
    """A benchmark's model to be trained."""

    kind: Literal["training"] = "training"
    task: AnyBenchmark
    model: Model
    norm: Norm
    training: Training

    @model_validator(mode="after")
    def training_fits(self) -> Self:
        if self.norm.needs_batch and self.training.batch_size < 2:
            raise contradiction(
                f"{self.norm.method} takes its statistics over the batch; use 2 or more", "training", "batch_size"
            )
        if self.training.kernel == "fused":
            raise contradiction(
                f"there is no fused kernel for {self.model.cell} with {self.norm.method}; use auto or reference",
                "training",
                "kernel",
            )
        return self

    @property
    def max_steps(self) -> int:
        return self.training.max_steps


class AnalysisSpec(ExperimentSpec):
    """Something to measure without training. It has those of model and norm that its task takes."""

    kind: Literal["analysis"] = "analysis"
    task: AnyAnalysis
    model: Model | None = None
    norm: Norm | None = None

    @model_validator(mode="after")
    def parts_are_the_tasks(self) -> Self:
        for part in ("model", "norm"):
            given, taken = getattr(self, part) is not None, part in self.task.parts
            if given and not taken:
                raise contradiction(f"{self.task.name} takes no {part}; remove it", part)
            if taken and not given:
                raise contradiction(f"{self.task.name} needs a {part}", part)
        misfit = self.task.norm_misfit(self.norm) if self.norm else None
        if misfit is not None:
            raise contradiction(misfit, "norm", "method")
        return self

    @property
    def max_steps(self) -> int:
        return 1


def parse(stored: Mapping[str, Any]) -> ExperimentSpec:
    """The spec that was stored.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return (AnalysisSpec if stored.get("kind") == "analysis" else TrainingSpec).model_validate(stored)


def digest(value: Any) -> str:
    """SHA-256 of canonical JSON: sorted keys, no white space, shortest round-trip floats."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()

"""Spec of an experiment as a whole, and its fingerprint, a digest of everything that decides the result."""

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    SerializeAsAny,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import Analysis
from normcore.spec.evolution import SPEC_VERSION, upgrade
from normcore.spec.kernels import why_not_fused
from normcore.spec.messages import Form
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models import MODELS
from normcore.spec.models.model import Model
from normcore.spec.part import Part, contradiction, refuse_duplicates
from normcore.spec.task import Kind, Task
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.training import Training

HASHED = ("task", "model", "norm", "training")
CANONICAL_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
MAX_SEED = 2**31 - 1
MAX_SEEDS = 1000
MAX_LABELS = 32


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("printable", "use printable characters only")
    return text


LabelKey = Annotated[
    str, Form(r"^[A-Za-z0-9_.\-]{1,64}$", "use 1 to 64 characters out of A-Z, a-z, 0-9, '_', '.' and '-'")
]
LabelValue = Annotated[str, StringConstraints(max_length=256), AfterValidator(_printable)]


class _AnyModel:
    """JSON Schema of a model: any known model, or null if the model may be left out."""

    def __init__(self, may_be_left_out: bool) -> None:
        self._may_be_left_out = may_be_left_out

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        kinds = [kind for family in MODELS.values() for kind in family.kinds().values()]
        union = core_schema.union_schema([kind.__pydantic_core_schema__ for kind in kinds])
        return handler(core_schema.nullable_schema(union) if self._may_be_left_out else union)


AnyModel = Annotated[Model, _AnyModel(False), SerializeAsAny()]
AnyModelOrNone = Annotated[Model | None, _AnyModel(True), SerializeAsAny()]


class ExperimentSpec(Part):
    """A validated, resolved spec: a ``TrainingSpec`` or an ``AnalysisSpec``. ``normcore.spec.resolve`` makes the spec
    from what a user wrote."""

    spec_version: int = Field(
        SPEC_VERSION, ge=SPEC_VERSION, le=SPEC_VERSION, description="Version of the spec; older specs are upgraded."
    )
    kind: Kind
    task: Task
    model: Model | None
    norm: Method | None
    seeds: list[Annotated[int, Field(ge=0, le=MAX_SEED)]] = Field([0], min_length=1, max_length=MAX_SEEDS)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    priority: int = Field(5, ge=0, le=9, description="Runs with 9 go first.")
    labels: dict[LabelKey, LabelValue] = Field(default={}, max_length=MAX_LABELS)

    @field_validator("seeds")
    @classmethod
    def seeds_differ(cls, seeds: list[int]) -> list[int]:
        refuse_duplicates(seeds, "seed")
        return seeds

    @field_validator("model", mode="plain", json_schema_input_type=Any)
    @classmethod
    def model_is_one_of_the_tasks(cls, value: Any, info: ValidationInfo) -> Any:
        task = info.data.get("task")
        if value is None or task is None:
            return value
        if task.model is None:
            raise PydanticCustomError(
                "unknown_field", "{message}", {"message": f"{task.name} takes no model; remove it"}
            )
        return task.model.read(value)

    @model_validator(mode="after")
    def parts_are_the_tasks(self) -> Self:
        if self.model is None and self.task.model is not None:
            raise contradiction(f"{self.task.name} needs a model; remove it for the profile's model", "model")
        if self.norm is None and self.task.takes_norm:
            raise contradiction(f"{self.task.name} needs a norm", "norm")
        if self.norm is not None and not self.task.takes_norm:
            raise contradiction(f"{self.task.name} takes no norm; remove it", "norm")
        return self

    @model_validator(mode="after")
    def norm_fits_the_model(self) -> Self:
        if getattr(self.model, "bidirectional", False) and not self.task.may_look_ahead:
            raise contradiction(
                f"{self.task.name} goes from the first step to the last, so nothing may read backwards; use false",
                "model",
                "bidirectional",
            )
        model = self.model or self.task.subject
        misfit = self.norm.misfit(model) if self.norm and model else None
        if misfit is not None:
            raise contradiction(misfit.message, "norm", misfit.field)
        return self

    @property
    def max_steps(self) -> int:
        """Number of steps of a run as far as it is known before the run begins: the most updates of a training, or 1
        for an analysis."""
        raise NotImplementedError

    def canonical(self) -> dict[str, Any]:
        """Return the fields of task, model, norm and training that differ from the defaults of their classes."""
        parts = {name: getattr(self, name, None) for name in HASHED}
        return {name: part.canonical() for name, part in parts.items() if part is not None}

    def fingerprint(self, without: Collection[str] = ()) -> str:
        """Compute the SHA-256 of the canonical JSON of task, model, norm and training, except the parts in ``without``.

        Fields with the default value of their class are left out: see ``Part.canonical``.
        """
        return digest({name: part for name, part in self.canonical().items() if name not in without})

    def fingerprint_and_setting(self) -> tuple[str, str]:
        """Compute two fingerprints: of the whole spec, and of the spec without its norm. This is faster than two calls
        of ``fingerprint``."""
        canonical = self.canonical()
        return digest(canonical), digest({name: part for name, part in canonical.items() if name != "norm"})


class TrainingSpec(ExperimentSpec):
    """Spec of a training: a benchmark, the model to train, its norm, and the options of the training."""

    kind: Literal["training"] = "training"
    task: Annotated[Benchmark, BENCHMARKS]
    model: AnyModel
    norm: Annotated[Method, METHODS]
    training: Training

    @model_validator(mode="after")
    def training_fits(self) -> Self:
        misfit = self.task.misfit(self.model)
        if misfit is not None:
            raise contradiction(misfit.message, "model", misfit.field)
        if self.norm.needs_batch(self.model) and self.training.batch_size < 2:
            raise contradiction(
                f"{self.norm.method} takes its statistics over the batch; use 2 or more", "training", "batch_size"
            )
        if self.training.kernel == "fused":
            missing = why_not_fused(self.model, self.norm)
            if missing is None and self.training.precision == "float64":
                missing = "there is no fused kernel in float64"
            if missing is not None:
                raise contradiction(f"{missing}; use auto or reference", "training", "kernel")
        return self

    @property
    def max_steps(self) -> int:
        return self.training.max_steps

    @property
    def budget(self) -> int:
        """Number of examples that the training may see."""
        return self.training.max_steps * self.training.batch_size


class AnalysisSpec(ExperimentSpec):
    """Spec of an analysis, a measurement without training. It has a model or a norm only if its task takes one."""

    kind: Literal["analysis"] = "analysis"
    task: Annotated[Analysis, ANALYSES]
    model: AnyModelOrNone = None
    norm: Annotated[Method, METHODS] | None = None

    @property
    def max_steps(self) -> int:
        return 1


def parse(stored: Mapping[str, Any]) -> ExperimentSpec:
    """Read a stored spec, which this or an older version of normbench wrote.

    Raises:
        pydantic.ValidationError, ValueError: ``stored`` is not a valid spec.
    """
    spec = upgrade(stored)
    return (AnalysisSpec if spec.get("kind") == "analysis" else TrainingSpec).model_validate(spec)


def digest(value: Any) -> str:
    """Compute the SHA-256 of a value's canonical JSON: sorted keys, no white space, shortest round-trip floats."""
    return hashlib.sha256(CANONICAL_JSON.encode(value).encode()).hexdigest()

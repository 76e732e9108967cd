"""What every task declares: its options, its profiles, and what the catalogue says of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from normcore.spec.metric import Metric
from normcore.spec.norm import Method
from normcore.spec.part import Part

ProfileName = Literal["paper", "small", "smoke"]
DEFAULT_PROFILE: ProfileName = "small"
Kind = Literal["training", "analysis"]


@dataclass(frozen=True)
class Profile:
    """One size of a task: the defaults of a spec that names it.

    Attributes:
        description: what the size is for.
        task, model, training: defaults of these parts.
        norm: defaults per method, where a task needs others than the method's own.
    """

    description: str
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    norm: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """A number from a paper, shown beside measured ones when asked for."""

    method: str
    value: float
    citation: str


class Task(Part):
    """Something to measure. A subclass adds its options as fields and fills in the class variables."""

    kind: ClassVar[Kind]
    title: ClassVar[str]
    citation: ClassVar[str]
    profiles: ClassVar[Mapping[ProfileName, Profile]]
    may_look_ahead: ClassVar[bool] = True
    """Whether a model may read the sequence backwards, too."""
    dataset_field: ClassVar[str] = "name"
    """The option that decides which data sets the task reads."""

    name: str
    profile: ProfileName = DEFAULT_PROFILE

    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets that this task reads, as the registry knows them."""
        raise NotImplementedError


class Benchmark(Task):
    """A task that a model is trained on."""

    kind: ClassVar[Kind] = "training"
    metric: ClassVar[Metric]
    selection: ClassVar[Metric]
    """Validation metric that selects the model whose test value counts."""
    published: ClassVar[tuple[Published, ...]] = ()


class Analysis(Task):
    """A task without training: it measures what a method, a model or a trained run does."""

    kind: ClassVar[Kind] = "analysis"
    parts: ClassVar[frozenset[Literal["model", "norm"]]] = frozenset()
    """The parts of a spec that it takes besides the task."""

    def norm_misfit(self, norm: Method) -> str | None:
        """Why a method cannot be analysed, and what to do; None if it can."""
        return None

    def datasets(self) -> tuple[str, ...]:
        return ()

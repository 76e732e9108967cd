"""Base class of tasks (benchmarks and analyses): options, profiles, data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from normcore.spec.models.model import Model
from normcore.spec.part import Part
from normcore.spec.work import Work

ProfileName = Literal["paper", "small", "smoke"]
DEFAULT_PROFILE: ProfileName = "small"
Kind = Literal["training", "analysis"]


@dataclass(frozen=True)
class Profile:
    """Size of a task: default values for the specs that name the profile.

    Attributes:
        description: what the profile is for.
        task, model, training: default values of these parts of a spec.
        norm: default values for each method, if the task needs other values than the method's own.
    """

    description: str
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    norm: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    """Data set that a task reads, and the task's option that chooses the data set."""

    dataset: str
    field: str = "name"


class Task(Part):
    """Options of a task. A subclass adds its options as fields and fills in the class variables.

    Attributes:
        works: the works to cite. If empty, they are found by ``citation`` (``normcore/bibliography/``).
        model: the family of models that the task takes; None if the task takes no model.
        subject: model that the method must fit if the spec names no model; None if there is none.
        takes_norm: whether the task takes a norm.
        may_look_ahead: whether a model may read the sequence backwards, too.
        x: name of the x axis of the task's curves.
    """

    kind: ClassVar[Kind]
    title: ClassVar[str]
    citation: ClassVar[str]
    works: ClassVar[tuple[Work, ...]] = ()
    profiles: ClassVar[Mapping[ProfileName, Profile]]
    model: ClassVar[type[Model] | None]
    subject: ClassVar[Model | None] = None
    takes_norm: ClassVar[bool]
    may_look_ahead: ClassVar[bool] = True
    x: ClassVar[str] = "step"

    name: str
    profile: ProfileName = DEFAULT_PROFILE

    def needs(self) -> tuple[Need, ...]:
        """List the data sets that the task reads."""
        return ()

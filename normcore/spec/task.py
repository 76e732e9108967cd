"""Base class of tasks, trained or not: options, profiles, data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from normcore.spec.models.model import Model
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


@dataclass(frozen=True, slots=True)
class Need:
    """A data set that a task reads, and the option that asks for it."""

    dataset: str
    field: str = "name"


class Task(Part):
    """Something to measure. A subclass adds its options as fields and fills in the class variables.

    Attributes:
        model: the family of models that it takes; None if it takes none.
        may_look_ahead: whether a model may read the sequence backwards, too.
        x: what its curves go over.
    """

    kind: ClassVar[Kind]
    title: ClassVar[str]
    citation: ClassVar[str]
    profiles: ClassVar[Mapping[ProfileName, Profile]]
    model: ClassVar[type[Model] | None]
    takes_norm: ClassVar[bool]
    may_look_ahead: ClassVar[bool] = True
    x: ClassVar[str] = "step"

    name: str
    profile: ProfileName = DEFAULT_PROFILE

    def needs(self) -> tuple[Need, ...]:
        """The data sets that it reads."""
        return ()

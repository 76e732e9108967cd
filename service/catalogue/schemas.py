"""Answer types of the catalogue."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from normcore.spec.task import Kind
from service.http.openapi import ResolvedSpec


class MetricOut(BaseModel):
    """Metric of a task."""

    name: str
    unit: str
    direction: Literal["maximize", "minimize"]
    no_skill: str | None = Field(description="What a model gets that ignores its input.")


class CostOut(BaseModel):
    """Cost of a training with the profile's model, without normalization."""

    parameters: int
    flop_per_update: int = Field(description="Floating-point operations, forward and backward.")
    updates: int


class ProfileOut(BaseModel):
    """One size of a task."""

    description: str
    spec: ResolvedSpec | None = Field(description="What its name resolves to; null if more than the name is needed.")
    cost: CostOut | None = Field(description="Null for an analysis, and where it is not known.")


class TaskOut(BaseModel):
    """A task. One without training, an analysis, has no metric and no leaderboard."""

    name: str
    kind: Kind
    title: str
    description: str
    citation: str
    metric: MetricOut | None = Field(description="The one that ranks.")
    metrics: list[MetricOut]
    models: dict[str, dict[str, Any]] = Field(description="JSON Schema of each model that it takes, by tag.")
    methods: list[str] = Field(description="Methods that have a place in one of its models.")
    profiles: dict[str, ProfileOut]
    options: dict[str, Any] = Field(description="JSON Schema of its options.")


class MethodOut(BaseModel):
    """A normalization method."""

    name: str
    title: str
    description: str
    citation: str
    takes: list[str] = Field(description="The places where it can stand.")
    cells: list[str] = Field(description="Recurrent cells that it fits.")
    models: list[str] = Field(description="Architectures that it fits.")
    options: dict[str, Any] = Field(description="JSON Schema of its options.")


class DatasetOut(BaseModel):
    """A data set, and whether it is at hand."""

    name: str
    title: str
    citation: str
    licence: str
    homepage: str
    status: Literal["bundled", "present", "missing", "corrupt"]
    files: list[str]


class TaskList(BaseModel):
    """All tasks, in one page."""

    items: list[TaskOut]
    next_cursor: None = None


class MethodList(BaseModel):
    """All methods, in one page."""

    items: list[MethodOut]
    next_cursor: None = None


class DatasetList(BaseModel):
    """All data sets, in one page."""

    items: list[DatasetOut]
    next_cursor: None = None

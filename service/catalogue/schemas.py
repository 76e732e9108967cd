"""Answer types of the catalogue."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from normcore.spec.task import Kind
from service.http.schemas import ResolvedSpec


class MetricOut(BaseModel):
    """Metric of a task."""

    name: str
    unit: str
    direction: Literal["maximize", "minimize"]
    no_skill: str | None = Field(description="Value of a model that ignores its input.")


class CostOut(BaseModel):
    """Cost of a training with the profile's model, without normalization."""

    parameters: int
    flop_per_update: int = Field(description="Floating-point operations, forward and backward.")
    updates: int


class ProfileOut(BaseModel):
    """One size of a task."""

    description: str
    spec: ResolvedSpec | None = Field(
        description="Full spec of the task at this profile; null if the task needs more than its name."
    )
    cost: CostOut | None = Field(description="Null for an analysis, and if the cost is not known.")


class TaskOut(BaseModel):
    """A task. An analysis, which is a task without training, has no metric and no leaderboard."""

    name: str
    kind: Kind
    title: str
    description: str
    citation: str
    metric: MetricOut | None = Field(description="The metric that ranks.")
    metrics: list[MetricOut]
    models: dict[str, dict[str, Any]] = Field(description="JSON Schema of each model that the task takes, by tag.")
    methods: list[str] = Field(description="Methods that have a place in one of the task's models.")
    profiles: dict[str, ProfileOut]
    options: dict[str, Any] = Field(description="JSON Schema of the task's options.")


class MethodOut(BaseModel):
    """A normalization method."""

    name: str
    title: str
    description: str
    citation: str
    takes: list[str] = Field(description="The places in a model where the method can act.")
    cells: list[str] = Field(description="Recurrent cells that the method fits.")
    models: list[str] = Field(description="Architectures that the method fits.")
    options: dict[str, Any] = Field(description="JSON Schema of the method's options.")


class DatasetOut(BaseModel):
    """A data set, and whether its files are on this machine."""

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

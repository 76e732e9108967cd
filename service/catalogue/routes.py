"""The catalogue over HTTP. It comes from the spec's own classes, so it cannot fall behind them."""

import inspect
from functools import cache
from typing import Annotated, Any

from fastapi import Path

from normcore.data import registry
from normcore.spec import resolve
from normcore.spec.methods import METHODS
from normcore.spec.metric import Metric
from normcore.spec.tasks import TASKS, Benchmark, ProfileName, Task, TrainedAnalysis
from service.catalogue import schemas
from service.errors import NotFound
from service.http.openapi import refusals
from service.http.parts import PartsDep
from service.http.routing import Router

router = Router(prefix="/v1", tags=["catalogue"])


@router.get("/tasks")
def list_tasks() -> schemas.TaskList:
    """Every task with its profiles."""
    return schemas.TaskList(items=[_task(name) for name in TASKS])


@router.get("/tasks/{name}", responses=refusals(NotFound))
def get_task(
    name: Annotated[str, Path(description="The task's name.", examples=["permuted_digits"])],
) -> schemas.TaskOut:
    """One task: description, citation, metric, profiles with their resolved specs, JSON Schema of its options."""
    if name not in TASKS:
        raise NotFound(f"no task {name!r}; choose from {', '.join(sorted(TASKS))}")
    return _task(name)


@router.get("/methods")
def list_methods() -> schemas.MethodList:
    """Every normalization method."""
    return schemas.MethodList(items=[_method(name) for name in METHODS])


@router.get("/methods/{name}", responses=refusals(NotFound))
def get_method(
    name: Annotated[str, Path(description="The method's name.", examples=["layer_norm"])],
) -> schemas.MethodOut:
    """One method: description, citation, JSON Schema of its options."""
    if name not in METHODS:
        raise NotFound(f"no method {name!r}; choose from {', '.join(sorted(METHODS))}")
    return _method(name)


@router.get("/datasets")
def list_datasets(parts: PartsDep) -> schemas.DatasetList:
    """Every data set, and whether its files are at hand and genuine."""
    return schemas.DatasetList(
        items=[
            schemas.DatasetOut(
                name=d.name,
                title=d.title,
                citation=d.citation,
                licence=d.licence,
                homepage=d.homepage,
                status=registry.status(d, parts.settings.datasets_dir),
                files=[file.name for file in d.files],
            )
            for d in registry.DATASETS.values()
        ]
    )


@cache
def _task(name: str) -> schemas.TaskOut:
    task = TASKS[name]
    profiles = {
        profile: schemas.ProfileOut(description=size.description, spec=_default_spec(task, profile))
        for profile, size in task.profiles.items()
    }
    return schemas.TaskOut(
        name=name,
        kind=task.kind,
        title=task.title,
        description=inspect.getdoc(task) or "",
        citation=task.citation,
        metric=_metric(task.metric) if issubclass(task, Benchmark) else None,
        profiles=dict(profiles),
        options=task.model_json_schema(),
    )


def _default_spec(task: type[Task], profile: ProfileName) -> dict[str, Any] | None:
    """None for a task that needs to be told whose model it is about."""
    if issubclass(task, TrainedAnalysis):
        return None
    return resolve({"task": {"name": task.model_fields["name"].default, "profile": profile}}).model_dump(mode="json")


def _metric(metric: Metric) -> schemas.MetricOut:
    return schemas.MetricOut(name=metric.name, unit=metric.unit, direction=metric.direction)


@cache
def _method(name: str) -> schemas.MethodOut:
    method = METHODS[name]
    return schemas.MethodOut(
        name=name,
        title=method.title,
        description=inspect.getdoc(method) or "",
        citation=method.citation,
        cells=list(method.cells),
        options=method.model_json_schema(),
    )

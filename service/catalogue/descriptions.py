"""Descriptions of the catalogue. They are made from the spec's own classes, so they are always up to date."""

import inspect
from functools import cache
from pathlib import Path
from typing import cast

from normcore.data import registry
from normcore.spec import TASKS, ExperimentSpec, TrainingSpec, resolve
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.metric import Metric
from normcore.spec.models import MODELS
from normcore.spec.task import ProfileName, Task
from normcore.spec.tasks.benchmark import Benchmark
from service.catalogue import schemas


@cache
def task(name: str) -> schemas.TaskOut:
    """Describe a known task."""
    known = TASKS[name]
    profiles = {profile: _profile(known, profile, size.description) for profile, size in known.profiles.items()}
    return schemas.TaskOut(
        name=name,
        kind=known.kind,
        title=known.title,
        description=inspect.getdoc(known) or "",
        citation=known.citation,
        metric=_metric(known.metric()) if issubclass(known, Benchmark) else None,
        metrics=[_metric(metric) for metric in known.metrics] if issubclass(known, Benchmark) else [],
        models={tag: kind.model_json_schema() for tag, kind in known.model.kinds().items()} if known.model else {},
        methods=_methods(known),
        profiles=dict(profiles),
        options=known.model_json_schema(),
    )


@cache
def method(name: str) -> schemas.MethodOut:
    """Describe a known method."""
    known = METHODS[name]
    return schemas.MethodOut(
        name=name,
        title=known.title,
        description=inspect.getdoc(known) or "",
        citation=known.citation,
        takes=sorted(known.takes),
        cells=[tag for tag, cell in CELLS.items() if known.fits(cell)],
        models=[tag for tag, model in MODELS.items() if any(map(known.fits, model.kinds().values()))],
        options=known.model_json_schema(),
    )


def dataset(name: str, folder: Path) -> schemas.DatasetOut:
    """Describe a known data set, and tell if its files are in ``folder``."""
    known = registry.DATASETS[name]
    return schemas.DatasetOut(
        name=name,
        title=known.title,
        citation=known.citation,
        licence=known.licence,
        homepage=known.homepage,
        status=registry.status(known, folder),
        files=[file.name for file in known.files],
    )


def _profile(task: type[Task], name: ProfileName, description: str) -> schemas.ProfileOut:
    """Describe a profile. An analysis of a trained run has no default spec, because the user must name the run."""
    if issubclass(task, TrainedAnalysis):
        return schemas.ProfileOut(description=description, spec=None, cost=None)
    spec = resolve({"task": {"name": task.model_fields["name"].default, "profile": name}})
    return schemas.ProfileOut(description=description, spec=spec.model_dump(mode="json"), cost=_cost(spec))


def _cost(spec: ExperimentSpec) -> schemas.CostOut | None:
    cost = spec.task.cost(spec.model) if isinstance(spec, TrainingSpec) else None
    if cost is None:
        return None
    training = cast(TrainingSpec, spec).training
    return schemas.CostOut(
        parameters=cost.parameters,
        flop_per_update=cost.flop_of_update(training.batch_size),
        updates=training.max_steps,
    )


def _metric(metric: Metric) -> schemas.MetricOut:
    return schemas.MetricOut(name=metric.name, unit=metric.unit, direction=metric.direction, no_skill=metric.no_skill)


def _methods(task: type[Task]) -> list[str]:
    """Names of the methods that have a place in one of the task's models."""
    kinds = task.model.kinds().values() if task.model and task.takes_norm else ()
    return [tag for tag, method in METHODS.items() if any(map(method.fits, kinds))]

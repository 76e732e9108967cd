"""The catalogue over HTTP."""

from pathlib import Path as Folder
from typing import Annotated

from fastapi import Path

from normcore.data import registry
from normcore.spec import TASKS
from normcore.spec.methods import METHODS
from service.catalogue import descriptions, schemas
from service.errors import NotFound
from service.http.dependencies import AppPartsDep
from service.http.openapi import answers, refusals
from service.http.routing import Router, check_found

router = Router(prefix="/v1", tags=["catalogue"])

TASK = descriptions.task("permuted_digits")
METHOD = descriptions.method("layer_norm")
DATASET = descriptions.dataset("digits", Folder())


@router.get("/tasks", responses=answers(schemas.TaskList(items=[TASK])))
def list_tasks() -> schemas.TaskList:
    """Every task with its profiles."""
    return schemas.TaskList(items=[descriptions.task(name) for name in TASKS])


@router.get("/tasks/{name}", responses=answers(TASK) | refusals(NotFound))
def get_task(
    name: Annotated[str, Path(description="The task's name.", examples=["permuted_digits"])],
) -> schemas.TaskOut:
    """One task: description, citation, metric, profiles with their resolved specs, JSON Schema of its options."""
    check_found("task", name, TASKS)
    return descriptions.task(name)


@router.get("/methods", responses=answers(schemas.MethodList(items=[METHOD])))
def list_methods() -> schemas.MethodList:
    """Every normalization method."""
    return schemas.MethodList(items=[descriptions.method(name) for name in METHODS])


@router.get("/methods/{name}", responses=answers(METHOD) | refusals(NotFound))
def get_method(
    name: Annotated[str, Path(description="The method's name.", examples=["layer_norm"])],
) -> schemas.MethodOut:
    """One method: description, citation, JSON Schema of its options."""
    check_found("method", name, METHODS)
    return descriptions.method(name)


@router.get("/datasets", responses=answers(schemas.DatasetList(items=[DATASET])))
def list_datasets(parts: AppPartsDep) -> schemas.DatasetList:
    """Every data set, and whether its files are on this machine and have the right checksums."""
    folder = parts.settings.datasets_dir
    return schemas.DatasetList(items=[descriptions.dataset(name, folder) for name in registry.DATASETS])

"""Evaluation of a model: on validation data during training, on test data after selection.

``evaluate`` and ``test`` are generators. They yield the name of each phase before the phase begins, and return the
values. No context manager that changes the model or torch is open at a yield.

In validation, batch norms use statistics of the minibatch or of the population, as the task says. In a test they always
use population statistics.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from normcore.events import Phase
from normcore.norms.population import batch_statistics, population_statistics, wants_population
from normcore.spec import TrainingSpec
from normcore.tasks.task import Task


def mixed_precision(spec: TrainingSpec, device: torch.device) -> AbstractContextManager[object]:
    """Context of autocast to bfloat16 if the spec asks for it; else a context that changes nothing."""
    return torch.autocast(device.type, torch.bfloat16) if spec.training.precision == "bfloat16" else nullcontext()


Phases = Generator[Phase, None, None]
Evaluation = Generator[Phase, None, dict[str, float]]


def evaluate(
    task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device, *, tested: bool
) -> Evaluation:
    """Evaluate the model; returns values by series: ``valid.<name>``, and also ``test.<name>`` if ``tested``."""
    by_population = spec.task.validates_with == "population"
    model.eval()
    if by_population or tested:
        yield from take_population_statistics(task, model, spec, device)
    yield "validation"
    with torch.no_grad(), mixed_precision(spec, device), nullcontext() if by_population else batch_statistics(model):
        values = _name_by_split("valid", task.validate(model))
    return values | _name_by_split("test", (yield from _test_model(task, model, spec, device))) if tested else values


def test(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Evaluation:
    """Test the model with population statistics, from a pass over training data; returns all test metrics."""
    model.eval()
    yield from take_population_statistics(task, model, spec, device)
    return (yield from _test_model(task, model, spec, device))


def take_population_statistics(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Phases:
    """Compute population statistics in one pass over training data, if the model has norms that need such a pass."""
    if wants_population(model):
        yield "population statistics"
        with torch.no_grad(), mixed_precision(spec, device), population_statistics(model):
            for batch in task.population():
                task.observe(model, batch)


def _test_model(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Evaluation:
    yield "test"
    with torch.no_grad(), mixed_precision(spec, device):
        return dict(task.test(model))


def _name_by_split(split: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{split}.{name}": value for name, value in values.items()}

"""Evaluation of a model: on validation data while it trains, on test data when it has been selected.

Both are generators that name each phase before it begins, and return the values; a context that changes the model or
torch is never open in between.

Batch norms use the statistics that the task's rule names: in validation those of the minibatch or of the population, in
a test always the population's.
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
    """Autocast to bfloat16, if the spec asks for it."""
    return torch.autocast(device.type, torch.bfloat16) if spec.training.precision == "bfloat16" else nullcontext()


Phases = Generator[Phase, None, None]
Evaluation = Generator[Phase, None, dict[str, float]]


def evaluate(
    task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device, *, tested: bool
) -> Evaluation:
    """Values by series: ``valid.<name>``, and ``test.<name>`` if the model is to be tested, too."""
    by_population = spec.task.validates_with == "population"
    model.eval()
    if by_population or tested:
        yield from take_population_statistics(task, model, spec, device)
    yield "validation"
    with torch.no_grad(), mixed_precision(spec, device), nullcontext() if by_population else batch_statistics(model):
        values = _named("valid", task.validate(model))
    return values | _named("test", (yield from _tested(task, model, spec, device))) if tested else values


def test(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Evaluation:
    """All metrics on the test data, with population statistics from one more pass over the training data."""
    model.eval()
    yield from take_population_statistics(task, model, spec, device)
    return (yield from _tested(task, model, spec, device))


def take_population_statistics(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Phases:
    """One pass over the training data, if the model has batch norms whose statistics come from one."""
    if wants_population(model):
        yield "population statistics"
        with torch.no_grad(), mixed_precision(spec, device), population_statistics(model):
            for batch in task.population():
                task.observe(model, batch)


def _tested(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> Evaluation:
    yield "test"
    with torch.no_grad(), mixed_precision(spec, device):
        return dict(task.test(model))


def _named(split: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{split}.{name}": value for name, value in values.items()}

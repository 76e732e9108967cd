"""What a model is worth: on validation data while it trains, on test data when it has been selected.

Batch norms use the statistics that the task's rule names: in validation those of the minibatch or of the population, in
a test always the population's.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from normcore.norms.population import batch_statistics, population_statistics, wants_population
from normcore.spec import TrainingSpec
from normcore.tasks.task import Task


def mixed_precision(spec: TrainingSpec, device: torch.device) -> AbstractContextManager[object]:
    """Autocast to bfloat16, if the spec asks for it."""
    return torch.autocast(device.type, torch.bfloat16) if spec.training.precision == "bfloat16" else nullcontext()


@torch.no_grad()
def evaluate(
    task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device, *, tested: bool
) -> dict[str, float]:
    """Values by series: ``valid.<name>``, and ``test.<name>`` if the model is to be tested, too."""
    by_population = spec.task.validates_with == "population"
    model.eval()
    with mixed_precision(spec, device):
        if by_population or tested:
            take_population_statistics(task, model)
        with nullcontext() if by_population else batch_statistics(model):
            values = _named("valid", task.validate(model))
        return values | _named("test", task.test(model)) if tested else values


@torch.no_grad()
def test(task: Task[Any], model: nn.Module, spec: TrainingSpec, device: torch.device) -> dict[str, float]:
    """All metrics on the test data, with population statistics from one more pass over the training data."""
    model.eval()
    with mixed_precision(spec, device):
        take_population_statistics(task, model)
        return dict(task.test(model))


def take_population_statistics(task: Task[Any], model: nn.Module) -> None:
    """One pass over the training data, if the model has batch norms whose statistics come from one."""
    if wants_population(model):
        with population_statistics(model):
            for batch in task.population():
                task.observe(model, batch)


def _named(split: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f"{split}.{name}": value for name, value in values.items()}

"""Specs of trainings, for tests that ask for parts which not every spec has."""

from typing import Any

from normcore.spec import TrainingSpec, resolve
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel


def training_spec(written: dict[str, Any]) -> TrainingSpec:
    """Resolve a spec that is a training."""
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec


def recurrent_model(model: Model | None) -> RecurrentModel:
    """A spec's model, which is a recurrent network."""
    assert isinstance(model, RecurrentModel)
    return model

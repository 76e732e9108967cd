"""Specs narrowed to trainings, for tests that read parts which other specs lack."""

from typing import Any

from normcore.spec import TrainingSpec, resolve
from normcore.spec.models.model import Model
from normcore.spec.models.recurrent import RecurrentModel


def training_spec(written: dict[str, Any]) -> TrainingSpec:
    """Resolve a spec, which must be a training."""
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec


def recurrent_model(model: Model | None) -> RecurrentModel:
    """Return a model, which must be a recurrent network."""
    assert isinstance(model, RecurrentModel)
    return model

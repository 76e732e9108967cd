"""Specs of trainings, for tests that ask for parts which not every spec has."""

from typing import Any

from normcore.spec import TrainingSpec, resolve


def training_spec(written: dict[str, Any]) -> TrainingSpec:
    """What ``written`` resolves to, which is a training."""
    spec = resolve(written)
    assert isinstance(spec, TrainingSpec)
    return spec

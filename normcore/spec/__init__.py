"""Vocabulary of specs: everything that a user can ask for. This package does not import torch.

Task, model, cell, norm and optimizer come in several kinds. Each kind is a frozen class of options in a registry; the
tag of the class names the module that implements it. ``resolve`` turns what a user wrote into an ``ExperimentSpec``.
"""

from normcore.spec.errors import InvalidSpec, SpecError
from normcore.spec.experiment import AnalysisSpec, ExperimentSpec, TrainingSpec, digest, parse
from normcore.spec.files import read_spec
from normcore.spec.resolve import TASKS, changes, departures, resolve

__all__ = [
    "TASKS",
    "AnalysisSpec",
    "ExperimentSpec",
    "InvalidSpec",
    "SpecError",
    "TrainingSpec",
    "changes",
    "departures",
    "digest",
    "parse",
    "read_spec",
    "resolve",
]

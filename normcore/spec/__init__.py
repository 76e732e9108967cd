"""The vocabulary: everything one can ask for, torch-free.

A part of a spec that comes in kinds (task, model, cell, norm, optimizer) is one of the frozen classes of a registry;
its tag names the module that implements it. ``resolve`` turns what a user wrote into an ``ExperimentSpec``.
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

"""The vocabulary: everything one can ask for, torch-free.

A part of a spec that comes in kinds (task, model, norm, optimizer) is a tagged union of frozen classes; the tag
names the module that implements it. ``resolve`` turns what a user wrote into an ``ExperimentSpec``.
"""

from normcore.spec.experiment import AnalysisSpec, ExperimentSpec, TrainingSpec, digest, parse
from normcore.spec.files import read_spec
from normcore.spec.resolve import InvalidSpec, SpecError, changes, resolve

__all__ = [
    "AnalysisSpec",
    "ExperimentSpec",
    "InvalidSpec",
    "SpecError",
    "TrainingSpec",
    "changes",
    "digest",
    "parse",
    "read_spec",
    "resolve",
]

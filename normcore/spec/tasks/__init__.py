"""The tasks one can ask for: one class each, its tag names the file in ``normcore/tasks/``, or in
``normcore/analyses/`` for a task without training.

A new benchmark is a class here (options and profiles), an entry in ``BENCHMARKS`` and in ``AnyBenchmark``, a module in
``normcore/tasks/`` that loads its data and scores its model, and a test. A new analysis goes the same way.
"""

from typing import Annotated

from pydantic import Discriminator

from normcore.spec.tasks.analyses import (
    FisherGeometry,
    GradientFlow,
    HiddenDynamics,
    Invariances,
    LengthGeneralization,
    PopulationStatistics,
    SmallestBatch,
    StepCost,
    TrainedAnalysis,
)
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.pixels import PermutedDigits, PermutedMNIST, SequentialDigits, SequentialMNIST
from normcore.spec.tasks.task import DEFAULT_PROFILE, Analysis, Benchmark, Kind, Profile, ProfileName, Published, Task

BENCHMARKS: dict[str, type[Benchmark]] = {
    "sequential_digits": SequentialDigits,
    "permuted_digits": PermutedDigits,
    "sequential_mnist": SequentialMNIST,
    "permuted_mnist": PermutedMNIST,
    "char_lm": CharLM,
}
AnyBenchmark = Annotated[
    SequentialDigits | PermutedDigits | SequentialMNIST | PermutedMNIST | CharLM, Discriminator("name")
]

ANALYSES: dict[str, type[Analysis]] = {
    "invariances": Invariances,
    "fisher_geometry": FisherGeometry,
    "gradient_flow": GradientFlow,
    "hidden_dynamics": HiddenDynamics,
    "step_cost": StepCost,
    "smallest_batch": SmallestBatch,
    "population_statistics": PopulationStatistics,
    "length_generalization": LengthGeneralization,
}
AnyAnalysis = Annotated[
    Invariances
    | FisherGeometry
    | GradientFlow
    | HiddenDynamics
    | StepCost
    | SmallestBatch
    | PopulationStatistics
    | LengthGeneralization,
    Discriminator("name"),
]

TASKS: dict[str, type[Task]] = {**BENCHMARKS, **ANALYSES}

__all__ = [
    "ANALYSES",
    "BENCHMARKS",
    "DEFAULT_PROFILE",
    "TASKS",
    "Analysis",
    "AnyAnalysis",
    "AnyBenchmark",
    "Benchmark",
    "CharLM",
    "FisherGeometry",
    "GradientFlow",
    "HiddenDynamics",
    "Invariances",
    "Kind",
    "LengthGeneralization",
    "PermutedDigits",
    "PermutedMNIST",
    "PopulationStatistics",
    "Profile",
    "ProfileName",
    "Published",
    "SequentialDigits",
    "SequentialMNIST",
    "SmallestBatch",
    "StepCost",
    "Task",
    "TrainedAnalysis",
]

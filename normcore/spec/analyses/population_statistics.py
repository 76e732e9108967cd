"""Population statistics."""

from typing import ClassVar, Literal

from normcore.spec.analyses.analysis import RBN, Memory, TrainedAnalysis, one_size
from normcore.spec.methods.method import Method
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.models.model import Model
from normcore.spec.tasks.benchmark import Benchmark


class PopulationStatistics(TrainedAnalysis):
    """Show the population statistics of a trained batch norm, and how these statistics converge from step to step."""

    title: ClassVar[str] = "Population statistics"
    citation: ClassVar[str] = f"{RBN}, section 3 and Fig. 5"
    x: ClassVar[str] = "time step"
    profiles: ClassVar = one_size("All steps of the run's longest training sequence.")

    name: Literal["population_statistics"] = "population_statistics"

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        if isinstance(norm, RecurrentBatchNorm) and norm.statistics == "per_step" and norm.sites:
            return None
        return f"its {norm.method} has no statistics of each step; name a run with recurrent_batch_norm per_step"

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory:
        """Return 0 for all purposes: everything depends on the model, which is not in the spec."""
        return Memory()

"""Base class of analyses."""

from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from normcore.spec.messages import Form
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.task import Kind, Profile, ProfileName, Task
from normcore.spec.tasks.benchmark import Benchmark

FLOAT32, FLOAT64, INT64 = 4, 8, 8  # bytes of a number
LN = "Ba, Kiros, Hinton 2016, arXiv:1607.06450"
RBN = "Cooijmans et al. 2017, arXiv:1603.09025"
ONE_LAYER = {"num_layers": 1, "bidirectional": False, "hidden_size": 100}
RunId = Annotated[
    str,
    Form("^run_[0-9A-Z]{26}$", "give a run's id: 'run_' and 26 capital letters and digits"),
    Field(description="The run whose trained model is analysed.", examples=["run_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"]),
]


def one_size(description: str, **parts: Any) -> dict[ProfileName, Profile]:
    """Make the same profile under all names, for an analysis that takes only seconds."""
    size = Profile(description=description, **parts)
    return {"paper": size, "small": size, "smoke": size}


class Memory(NamedTuple):
    """Least bytes of tensors that an analysis holds at one moment, by purpose.

    Attributes:
        weights: bytes of the parameters of all networks.
        gradients, optimizer: bytes of the gradients, and of the numbers that the optimizers keep.
        backward: bytes that a forward pass keeps for the backward pass, or returns.
        data: bytes of the inputs, unless ``backward`` counts them.
        on_cpu: whether the tensors lie in the machine's memory even if the worker has a GPU.
    """

    weights: int = 0
    gradients: int = 0
    optimizer: int = 0
    backward: int = 0
    data: int = 0
    on_cpu: bool = False


class Analysis(Task):
    """A task without training: it measures what a method, a model or a trained run does."""

    kind: ClassVar[Kind] = "analysis"
    model: ClassVar[type[Model] | None] = None
    takes_norm: ClassVar[bool] = False

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory | None:
        """Compute the least memory of the analysis; None if it is not known.

        The sum must not exceed what the analysis needs, because a service refuses a spec that needs more memory than
        its workers have. Leave out what a method adds.

        Args:
            model, norm: model and norm of the spec; None if the analysis takes none.
        """
        return None


class TrainedAnalysis(Analysis):
    """An analysis of the model that a run has trained. Model and norm are those of the run."""

    run: RunId

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        """Say why a model of this task and norm cannot be analysed, and which run to name instead; None if it can."""
        raise NotImplementedError

"""Base class of analyses."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from normcore.spec.messages import Form
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.task import Kind, Profile, ProfileName, Task
from normcore.spec.tasks.benchmark import Benchmark

LN = "Ba, Kiros, Hinton 2016, arXiv:1607.06450"
RBN = "Cooijmans et al. 2017, arXiv:1603.09025"
ONE_LAYER = {"num_layers": 1, "bidirectional": False, "hidden_size": 100}
RunId = Annotated[
    str,
    Form("^run_[0-9A-Z]{26}$", "give a run's id: 'run_' and 26 capital letters and digits"),
    Field(description="The run whose trained model is analysed."),
]


def one_size(description: str, **parts: Any) -> dict[ProfileName, Profile]:
    """Make the same profile under all names, for an analysis that takes only seconds."""
    size = Profile(description=description, **parts)
    return {"paper": size, "small": size, "smoke": size}


class Analysis(Task):
    """A task without training: it measures what a method, a model or a trained run does.

    Attributes:
        subject: model that the method must fit if the spec names no model.
    """

    kind: ClassVar[Kind] = "analysis"
    model: ClassVar[type[Model] | None] = None
    takes_norm: ClassVar[bool] = False
    subject: ClassVar[Model | None] = None


class TrainedAnalysis(Analysis):
    """An analysis of the model that a run has trained. Model and norm are those of the run."""

    run: RunId

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        """Say why a model of this task and norm cannot be analysed, and which run to name instead; None if it can."""
        raise NotImplementedError

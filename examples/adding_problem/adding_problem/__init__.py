"""Options of the task. The API reads this module; it imports no torch."""

from typing import ClassVar, Literal

from pydantic import Field

from normcore.spec.metric import Metric
from normcore.spec.task import Profile
from normcore.spec.tasks.benchmark import Benchmark, Best, LastMean

ERROR = Metric("mean_squared_error", "", "minimize", "1/6, the variance of the sum", 0)


def _profile(description: str, length: int, hidden_size: int, **budget: int) -> Profile:
    model = {"cell": "lstm", "hidden_size": hidden_size, "forget_bias": 1.0}
    training = {"optimizer": {"name": "adam", "lr": 1e-2}, "clip_norm": 1.0, "target": 0.05, **budget}
    return Profile(description, model, training, task={"length": length})


class AddingProblem(Benchmark):
    """Add two of the numbers of a sequence: one marked in its first half, one in its second."""

    title: ClassVar[str] = "Adding problem"
    citation: ClassVar[str] = "Hochreiter, Schmidhuber 1997, Neural Computation 9(8); here with numbers from 0 to 1"
    home: ClassVar[str] = "adding_problem.task"
    metrics: ClassVar[tuple[Metric, ...]] = (ERROR,)
    selection: ClassVar[Best | LastMean] = Best(ERROR)
    profiles: ClassVar = {
        "paper": _profile(
            "100 numbers; all sizes are ours.", 100, 100, batch_size=100, max_steps=10_000, eval_every=250
        ),
        "small": _profile("40 numbers: minutes on one core.", 40, 64, batch_size=50, max_steps=1500, eval_every=100),
        "smoke": _profile("6 numbers: seconds.", 6, 16, batch_size=50, max_steps=200, eval_every=25),
    }

    name: Literal["adding_problem"] = "adding_problem"
    length: int = Field(100, ge=2, le=1000, description="Numbers in a sequence.")
    data_seed: int = Field(0, ge=0, lt=2**32, description="Draws all sequences, which all runs share.")

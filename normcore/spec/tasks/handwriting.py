"""Writing a given text by hand (LN section 6.5)."""

import string
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from normcore.spec.metric import Metric
from normcore.spec.models.handwriting import HandwritingModel
from normcore.spec.models.model import Cost, Model
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Benchmark, LastMean, count_taken

ALPHABET = " " + string.ascii_letters + '.,"'
"""All letters, and what else is frequent enough to be told apart (Graves: 57 kinds in all, which he does not list)."""
OTHER = len(ALPHABET)  # the kind of all other characters
KINDS = OTHER + 1
ADAM = {"optimizer": {"name": "adam", "lr": 1e-3}, "clip_norm": 10.0}
NATS_OF_LINE = Metric(
    "nats",
    "nats",
    "minimize",
    "that of offsets which are normal with the training lines' covariance, and of a pen that is lifted as often as"
    " there",
)
FEWEST = {"iam_ondb": 5_000, "iam_ondb_packed": 100}
"""Training examples, at least."""


class Handwriting(Benchmark):
    """Predict where the pen moves next, given the text. The metric is the negative log-likelihood of a line."""

    title: ClassVar[str] = "Handwriting synthesis"
    citation: ClassVar[str] = "Ba, Kiros, Hinton 2016, arXiv:1607.06450, section 6.5; Graves 2013, arXiv:1308.0850"
    home: ClassVar[str] = "normcore.tasks.handwriting:HandwritingTask"
    model: ClassVar[type[Model]] = HandwritingModel
    metrics: ClassVar[tuple[Metric, ...]] = (NATS_OF_LINE,)
    selection: ClassVar[LastMean] = LastMean(1)  # the paper shows curves alone
    shown_only: ClassVar[frozenset[str]] = frozenset({"text"})
    profiles: ClassVar = {
        "paper": Profile(
            "LN section 6.5, 150 epochs: three layers of 400 units, batches of 8 lines and 500 points. Adam's step and"
            " clipping are ours; the paper names none.",
            task={"dataset": "iam_ondb", "points": 500, "examples": None},
            model={"hidden_size": 400, "gaussians": 10, "components": 20},
            training={**ADAM, "batch_size": 8, "max_steps": 201_450, "eval_every": 1343, "target": -900.0},
        ),
        "small": Profile(
            "The first 100 points of 1,000 lines, layers of 64 units, a window that begins to move as slowly as a hand:"
            " some minutes on one core.",
            task={"dataset": "iam_ondb_packed", "points": 100, "examples": 1000},
            model={"hidden_size": 64, "gaussians": 3, "components": 8, "advance": 0.04},
            training={**ADAM, "batch_size": 32, "max_steps": 600, "eval_every": 50, "target": 0.0},
        ),
        "smoke": Profile(
            "Seconds; checks that everything runs.",
            task={"dataset": "iam_ondb_packed", "points": 12, "examples": 40},
            model={"hidden_size": 8, "gaussians": 2, "components": 2, "advance": 0.04},
            training={**ADAM, "batch_size": 8, "max_steps": 12, "eval_every": 4, "target": 33.0},
        ),
    }

    name: Literal["handwriting"] = "handwriting"
    dataset: Literal["iam_ondb", "iam_ondb_packed"] = Field(
        "iam_ondb", description="IAM-OnDB as its makers give it out, or the same lines from a packed file."
    )
    points: int = Field(
        500, ge=2, le=10_000, description="Number of points of a line that the network sees, its first ones."
    )
    examples: int | None = Field(
        None, ge=2, description="Take at most the first N lines to train on, and N to validate; null takes all."
    )
    text: str = Field(
        "layers that are normalized", min_length=1, max_length=100, description="Text that the trained network writes."
    )

    @field_validator("text")
    @classmethod
    def _is_ascii(cls, text: str) -> str:
        strange = next((c for c in text if not " " <= c <= "~"), None)
        if strange is not None:
            raise ValueError(f"expected printable ASCII, received {strange!r}; leave it out")
        return text

    def needs(self) -> tuple[Need, ...]:
        return (Need(self.dataset, "dataset"),)

    def least_examples(self) -> int:
        return count_taken(FEWEST[self.dataset], self.examples)

    def cost(self, model: Model) -> Cost | None:
        return model.cost(KINDS, self.points - 1) if isinstance(model, HandwritingModel) else None

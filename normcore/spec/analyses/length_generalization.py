"""Length generalization."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from normcore.spec.analyses.analysis import INT64, RBN, Memory, TrainedAnalysis
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.part import each_once
from normcore.spec.task import Profile
from normcore.spec.tasks.benchmark import Benchmark
from normcore.spec.tasks.char_lm import CharLM

LEAST_SEGMENTS = 2  # of each length that the test text holds; a batch has all of them, or more


class LengthGeneralization(TrainedAnalysis):
    """Measure bits per character on the test text in segments of several lengths, once with population statistics and
    once with batch statistics."""

    title: ClassVar[str] = "Length generalization"
    citation: ClassVar[str] = f"{RBN}, section 5.2 and Fig. 3b"
    x: ClassVar[str] = "characters of a segment"
    profiles: ClassVar = {
        "paper": Profile("Fig. 3b.", task={"lengths": (100, 300, 500, 1000)}),
        "small": Profile("Fig. 3b.", task={"lengths": (100, 300, 500, 1000)}),
        "smoke": Profile("Checks that everything runs.", task={"lengths": (10, 20)}),
    }

    name: Literal["length_generalization"] = "length_generalization"
    lengths: Annotated[tuple[Annotated[int, Field(ge=2, le=1_000_000)], ...], each_once("length")] = Field(
        (100, 300, 500, 1000),
        strict=False,
        min_length=1,
        max_length=100,
        description="Lengths of segments, in characters.",
    )

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        if not isinstance(task, CharLM):
            return f"it was trained on {task.name}; name a run of char_lm"
        if task.test_chars is not None and task.test_chars < 2 * max(self.lengths):
            return (
                f"its test text has {task.test_chars:,} characters, less than two segments of {max(self.lengths):,};"
                " use shorter lengths, or a run with test_chars: null"
            )
        return None

    def least_memory(self, model: Model | None, norm: Method | None) -> Memory:
        """Compute the memory of a batch of the longest segments. The model is not in the spec, so it does not count."""
        return Memory(data=INT64 * LEAST_SEGMENTS * max(self.lengths))

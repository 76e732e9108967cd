"""Tasks without training: what the papers say of methods and networks, measured."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, field_validator
from pydantic_core import PydanticCustomError

from normcore.spec.messages import Form
from normcore.spec.norm import InstanceNorm, Method, QueryKeyNorm, RecurrentBatchNorm
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.task import Analysis, Benchmark, Profile, ProfileName

LN = "Ba, Kiros, Hinton 2016, arXiv:1607.06450"
RBN = "Cooijmans et al. 2017, arXiv:1603.09025"
MODEL = {"num_layers": 1, "bidirectional": False, "hidden_size": 100}
RunId = Annotated[
    str,
    Form("^run_[0-9A-Z]{26}$", "give a run's id: 'run_' and 26 capital letters and digits"),
    Field(description="The run whose trained model is analysed."),
]
Gain = Annotated[float, Field(gt=0, le=1e3)]


def _one_size(description: str, **parts: Any) -> Mapping[ProfileName, Profile]:
    """All profiles alike, for what takes seconds anyway."""
    size = Profile(description=description, **parts)
    return {"paper": size, "small": size, "smoke": size}


class Invariances(Analysis):
    """Which changes of weights and data a normalized layer does not see, in float64."""

    title: ClassVar[str] = "Invariances"
    citation: ClassVar[str] = f"{LN}, section 5.1 and Table 1"
    parts: ClassVar = frozenset({"norm"})
    profiles: ClassVar = _one_size("Six changes of a layer of 8 units, 64 cases.")

    name: Literal["invariances"] = "invariances"

    def norm_misfit(self, norm: Method) -> str | None:
        if isinstance(norm, InstanceNorm):
            return f"{norm.method} needs channels of more than one place, and this is a layer of units; use group_norm"
        if isinstance(norm, QueryKeyNorm):
            return f"{norm.method} is for attention, and this is a layer of units; use another method"
        return None


class FisherGeometry(Analysis):
    """The geometry of generalized linear models under weight norm, batch norm and layer norm, statement by statement.

    Fisher matrices are enumerated in float64 and held against the paper's equations, with its misprints as printed
    and as corrected.
    """

    title: ClassVar[str] = "Fisher geometry"
    citation: ClassVar[str] = f"{LN}, section 5.2"
    profiles: ClassVar = _one_size("8 outputs, 5 inputs, 64 examples.")

    name: Literal["fisher_geometry"] = "fisher_geometry"


class GradientFlow(Analysis):
    """How large the gradient is at every step of an untrained network that reads images pixel by pixel, by gain; and
    the mean derivative of tanh at normal summed inputs."""

    title: ClassVar[str] = "Gradient flow"
    citation: ClassVar[str] = f"{RBN}, section 4 and Fig. 1"
    parts: ClassVar = frozenset({"model", "norm"})
    may_look_ahead: ClassVar[bool] = False
    dataset_field: ClassVar[str] = "images"
    profiles: ClassVar = {
        "paper": Profile(
            description="Fig. 1a: 100 MNIST digits of 784 steps.",
            task={"images": "mnist", "cases": 100, "gains": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **MODEL},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
        "small": Profile(
            description="100 of scikit-learn's digits, 64 steps: seconds.",
            task={"images": "digits", "cases": 100, "gains": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **MODEL},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"images": "digits", "cases": 10, "gains": (0.1, 1.0)},
            model={"cell": "rnn", "recurrent_init": "identity", **MODEL, "hidden_size": 16},
            norm={"recurrent_batch_norm": {"initial_state_noise": 0.1}},
        ),
    }

    name: Literal["gradient_flow"] = "gradient_flow"
    images: Literal["digits", "mnist"] = Field("digits", description="One pixel a step, from top left to bottom right.")
    cases: int = Field(100, ge=2, le=1000, description="Images of the one batch.")
    gains: tuple[Gain, ...] = Field(
        (),
        strict=False,
        max_length=100,
        description="Initial gains to go through, for methods with gain_init; empty for the norm's own.",
    )

    @field_validator("gains")
    @classmethod
    def gains_differ(cls, gains: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(gains)) < len(gains):
            raise PydanticCustomError("duplicate", "give every gain once")
        return gains

    def datasets(self) -> tuple[str, ...]:
        return (self.images,)


class HiddenDynamics(Analysis):
    """Whether the summed inputs of an untrained network grow, shrink or stay from step to step."""

    title: ClassVar[str] = "Hidden dynamics"
    citation: ClassVar[str] = f"{LN}, section 3.1"
    parts: ClassVar = frozenset({"model", "norm"})
    profiles: ClassVar = _one_size(
        "20 steps after one small input, four scales of W_h.",
        model={"cell": "rnn", "recurrent_init": "orthogonal", **MODEL},
    )

    name: Literal["hidden_dynamics"] = "hidden_dynamics"
    weight_scales: tuple[PositiveFloat, ...] = Field(
        (0.5, 1.0, 1.5, 2.0), strict=False, min_length=1, max_length=100, description="Factors of W_h."
    )


class StepCost(Analysis):
    """What one training step costs against one without normalization, in interleaved pairs."""

    title: ClassVar[str] = "Cost of a training step"
    citation: ClassVar[str] = "normbench"
    parts: ClassVar = frozenset({"model", "norm"})
    profiles: ClassVar = {
        **_one_size(
            "64 steps, 64 cases, 100 units: the shape of permuted_digits.",
            task={"num_steps": 64, "batch_size": 64},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **MODEL},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"num_steps": 8, "batch_size": 8},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **MODEL, "hidden_size": 16},
        ),
    }

    name: Literal["step_cost"] = "step_cost"
    num_steps: int = Field(64, ge=1, le=10_000, description="Length of the sequences.")
    batch_size: int = Field(64, ge=2, le=100_000)


class SmallestBatch(Analysis):
    """The smallest minibatch that a method trains at: digits read row by row, equally many updates at each size."""

    title: ClassVar[str] = "Smallest batch"
    citation: ClassVar[str] = "normbench"
    parts: ClassVar = frozenset({"model", "norm"})
    profiles: ClassVar = {
        **_one_size(
            "600 updates of 32 units at each of seven sizes: half a minute.",
            task={"updates": 600},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **MODEL, "hidden_size": 32},
        ),
        "smoke": Profile(
            description="Checks that everything runs.",
            task={"updates": 5},
            model={"cell": "lstm", "recurrent_init": "orthogonal", **MODEL, "hidden_size": 8},
        ),
    }

    name: Literal["smallest_batch"] = "smallest_batch"
    updates: int = Field(600, ge=1, le=1_000_000, description="Of each size, from the same weights.")

    def datasets(self) -> tuple[str, ...]:
        return ("digits",)


class TrainedAnalysis(Analysis):
    """An analysis of the model that a run has trained; model and norm are the run's."""

    run: RunId

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        """Why a model of this task and norm cannot be analysed, and which can; None if it can."""
        raise NotImplementedError


class PopulationStatistics(TrainedAnalysis):
    """How the population statistics of a trained batch norm settle from step to step."""

    title: ClassVar[str] = "Population statistics"
    citation: ClassVar[str] = f"{RBN}, section 3 and Fig. 5"
    profiles: ClassVar = _one_size("All steps of the run's longest training sequence.")

    name: Literal["population_statistics"] = "population_statistics"

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        if isinstance(norm, RecurrentBatchNorm) and norm.statistics == "per_step" and norm.sites:
            return None
        return f"its {norm.method} has no statistics of each step; name a run with recurrent_batch_norm per_step"


class LengthGeneralization(TrainedAnalysis):
    """Bits per character of the test text in segments of several lengths, with the population's statistics and with
    the batch's."""

    title: ClassVar[str] = "Length generalization"
    citation: ClassVar[str] = f"{RBN}, section 5.2 and Fig. 3b"
    profiles: ClassVar = {
        "paper": Profile("Fig. 3b.", task={"lengths": (100, 300, 500, 1000)}),
        "small": Profile("Fig. 3b.", task={"lengths": (100, 300, 500, 1000)}),
        "smoke": Profile("Checks that everything runs.", task={"lengths": (10, 20)}),
    }

    name: Literal["length_generalization"] = "length_generalization"
    lengths: tuple[Annotated[int, Field(ge=2, le=1_000_000)], ...] = Field(
        (100, 300, 500, 1000), strict=False, min_length=1, max_length=100, description="Characters of a segment."
    )

    def misfit(self, task: Benchmark, norm: Method) -> str | None:
        if not isinstance(task, CharLM):
            return f"it was trained on {task.name}; name a run of char_lm"
        if task.eval_chars is not None and task.eval_chars < 2 * max(self.lengths):
            return (
                f"its test text has {task.eval_chars:,} characters, less than two segments of {max(self.lengths):,};"
                " use shorter lengths, or a run with eval_chars: null"
            )
        return None

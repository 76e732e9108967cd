"""Published numbers of a paper: results from its tables, and curves from its analyses."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

Name = Annotated[str, Field(min_length=1)]
Point = Annotated[tuple[float, float], Field(strict=False)]  # YAML has lists
Provenance = Literal["text", "figure"]
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True, config=STRICT)
class Result:
    """Published result of one model on a task.

    Attributes:
        model: the paper's name for the model, such as ``BN-e**``.
        method: our tag of the model's normalization. None if the model is from another work and no method of ours
            describes it, or if the paper does not name its normalization.
        values: value by metric; accuracies, error rates and recalls are fractions.
        where: place in the paper, such as ``Table 1``.
        citation: the paper's short name, followed by ``where``.
        provenance: ``text`` for a printed number, ``figure`` for a number read off a figure's file in the authors'
            repository.
        options: the task's options that define the problem, where they differ from the task's profile ``paper``.
        measured_with: further options, if the authors' code measured another problem than the paper describes.
        origin: the work that the paper quotes the number from; None for the paper's own number.
        comparable: whether the number was measured on the same problem as the paper's own numbers.
        updates: number of training updates, if the paper gives it.
    """

    task: Name
    model: Name
    method: str | None
    values: Annotated[Mapping[str, float], Field(min_length=1)]
    split: Literal["test", "valid"]
    where: Name
    citation: Name
    provenance: Provenance
    profile: Literal["paper"] = "paper"
    options: Mapping[str, object] = field(default_factory=dict)
    measured_with: Mapping[str, object] = field(default_factory=dict)
    origin: str | None = None
    comparable: bool = True
    updates: Annotated[int, Field(gt=0)] | None = None
    note: str | None = None

    @property
    def can_be_ranked(self) -> bool:
        """Tell if a board may rank this result: a test result on the same problem as the paper's own numbers."""
        return self.split == "test" and self.comparable

    @property
    def problems(self) -> tuple[Mapping[str, object], ...]:
        """Options of each problem whose board shows this result: the paper's problem and, if it differs, the code's."""
        own = self.options
        return (own, {**own, **self.measured_with}) if self.measured_with else (own,)


@dataclass(frozen=True, config=STRICT)
class Curve:
    """Published curve of an analysis or a sensitivity study: a quantity y over a quantity x. No board ranks it.

    Attributes:
        task: our task or analysis that measures the same quantity.
        parameters: quantities that were held fixed along the curve.
        points: (x, y), x ascending.
        provenance: ``text`` or ``figure`` as in ``Result``; ``computed`` if we computed the curve from the paper's
            description of its figure. Then ``note`` says how.
    """

    task: Name
    model: Name
    x: Name
    y: Name
    unit: str
    points: Annotated[tuple[Point, ...], Field(strict=False, min_length=1)]
    where: Name
    citation: Name
    provenance: Provenance | Literal["computed"]
    parameters: Mapping[str, object] = field(default_factory=dict)
    note: str | None = None

    @model_validator(mode="after")
    def computed_numbers_have_a_note(self) -> Self:
        if self.provenance == "computed" and not self.note:
            raise ValueError("add a note that says how the numbers were computed")
        return self


@dataclass(frozen=True, config=STRICT)
class Paper:
    """Paper: its bibliographic data and its published numbers."""

    short_name: Name
    title: Name
    authors: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    year: int
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{5}$")]
    version: Annotated[int, Field(gt=0)]
    booktitle: Name | None = None
    results: tuple[Result, ...] = ()
    curves: tuple[Curve, ...] = ()

"""A paper's numbers as values: what stands in its tables, and what its analyses drew."""

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
        method: our tag of its normalization; None for another work's model that no method of ours describes, or whose
            normalization the paper does not tell.
        model: the paper's own name, such as ``BN-e**``.
        options: the task's options that name the problem, where they differ from the task's profile ``paper``.
        measured_with: further options, where the authors' code measured another problem than the paper describes.
        values: by name of the metric; accuracies, error rates and recalls are fractions.
        where, citation: ``Table 1``, and the same with the paper's short name before it.
        provenance: printed in the text, or read off the figures' files in the authors' repository.
        origin: the work that a number was taken from, where the paper quotes another's.
        comparable: whether it was measured on the same problem as the paper's own numbers.
        updates: after how many updates, where the paper says so.
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
        """Tell if a board may rank it: a test result that compares with the paper's own."""
        return self.split == "test" and self.comparable

    @property
    def problems(self) -> tuple[Mapping[str, object], ...]:
        """The options of each problem that it stands beside: the paper's and, if another, that of the code."""
        own = self.options
        return (own, {**own, **self.measured_with}) if self.measured_with else (own,)


@dataclass(frozen=True, config=STRICT)
class Curve:
    """Numbers of an analysis or of a sensitivity study, which no board ranks: a quantity y over some x.

    Attributes:
        task: our task or analysis that measures the same.
        parameters: what was held fixed along the curve.
        points: (x, y), x ascending.
        provenance: as a result's; or computed by us from what the paper says that it drew, and then ``note`` says how.
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
            raise ValueError("say in note how it was computed")
        return self


@dataclass(frozen=True, config=STRICT)
class Paper:
    """A paper as one cites it, and its numbers."""

    short_name: Name
    title: Name
    authors: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)]
    year: int
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{5}$")]
    version: Annotated[int, Field(gt=0)]
    results: tuple[Result, ...] = ()
    curves: tuple[Curve, ...] = ()

"""A sweep as a user writes it. The numbers of cells and runs are checked before any cell is made."""

import math
import random
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from normcore.spec import SpecError
from normcore.spec.errors import first_errors
from normcore.spec.experiment import HASHED
from normcore.spec.messages import choose, message, suggestion
from service.errors import Invalid
from service.http.bodies import A_SWEEP
from service.http.openapi import WrittenSpec
from service.http.sizes import MAX_LEVELS

MAX_AXES = 20
MAX_CELLS = 1_000
MAX_RUNS = 10_000
MAX_ADAPTIVE_CELLS = 32  # every pair of cells is compared after each step
FIRST_SEEDS = 3  # seeds with which each cell of an adaptive sweep begins
MAX_SEEDS = 20
NO_FIELD = "a field's name is text, as norm.eps; put the name into quotes"
OF_ALL_CELLS = ("seeds", "device", "priority", "labels")

Range = Annotated[list[float], Field(min_length=2, max_length=2)]
PositiveRange = Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)]
IntRange = Annotated[list[int], Field(min_length=2, max_length=2)]


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Distribution(_Written):
    """Distribution of a field's values; give one of its fields, as `{"log_uniform": [1e-4, 1e-2]}`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    log_uniform: PositiveRange | None = Field(None, description="Numbers whose logarithm is uniform: [least, most].")
    uniform: Range | None = Field(None, description="Uniform numbers: [least, most].")
    int_uniform: IntRange | None = Field(None, description="Whole numbers, all equally likely: [least, most].")
    choice: list[Any] | None = Field(None, min_length=1, description="One of these values, all equally likely.")

    @model_validator(mode="after")
    def is_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise PydanticCustomError("one_distribution", "give one of log_uniform, uniform, int_uniform and choice")
        bounds = self.log_uniform or self.uniform or self.int_uniform
        if bounds is not None and not bounds[0] < bounds[1]:
            raise PydanticCustomError("bounds", "give the least first, then a larger number")
        if self.uniform is not None and math.isinf(self.uniform[1] - self.uniform[0]):
            raise PydanticCustomError("bounds", "the range is wider than any number; give a narrower one")
        return self

    def draw(self, source: random.Random) -> Any:
        if self.log_uniform is not None:
            least, most = self.log_uniform
            return min(max(math.exp(source.uniform(math.log(least), math.log(most))), least), most)
        if self.uniform is not None:
            return source.uniform(*self.uniform)
        if self.int_uniform is not None:
            return source.randint(*self.int_uniform)
        assert self.choice is not None
        return source.choice(self.choice)


class WrittenSweep(_Written):
    """A spec, and values for some of its fields. Every combination of the grid's values with every draw is a cell, and
    each cell an experiment."""

    spec: WrittenSpec = Field(description="The spec that all cells share, with seeds, device, priority and labels.")
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        {}, max_length=MAX_AXES, description="Values by field, as `norm.gain_init`; a field may be a whole part."
    )
    random: dict[str, Distribution] = Field(
        {}, max_length=MAX_AXES, description="Distributions by field; each draw gives each of these fields a value."
    )
    samples: int | None = Field(
        None, ge=1, description="How many draws, no two alike; each is combined with every combination of the grid."
    )
    sampler_seed: int = Field(0, ge=0, description="Seed of the draws; another seed gives other draws.")
    reuse: bool = Field(
        True,
        description="Whether earlier runs by this code, on this kind of device, count instead of new runs.",
    )
    adaptive: bool = Field(
        False,
        description=f"Begin with {FIRST_SEEDS} seeds, and give another one only to cells whose order is still open,"
        f" up to {MAX_SEEDS}.",
    )

    @property
    def n_cells(self) -> int:
        return math.prod(len(values) for values in self.grid.values()) * (self.samples or 1)

    @property
    def seeds(self) -> Sequence[Any]:
        """Seeds that every cell starts with."""
        if self.adaptive:
            return range(FIRST_SEEDS)
        seeds = self.spec.get("seeds", [0])
        return seeds if isinstance(seeds, list) else [0]  # the check of the spec refuses all but lists

    @property
    def complete(self) -> dict[str, Any]:
        """The sweep as it was posted, completed with defaults."""
        random = {path: distribution.model_dump(exclude_none=True) for path, distribution in self.random.items()}
        return {**self.model_dump(mode="json"), "random": random}

    @property
    def most_runs(self) -> int:
        return self.n_cells * (MAX_SEEDS if self.adaptive else len(self.seeds))


def read(body: Any) -> WrittenSweep:
    """Read a sweep from a request's body.

    Raises:
        Invalid: the body is not a sweep, or the sweep has too many cells or runs.
    """
    try:
        written = WrittenSweep.model_validate(body)
    except ValidationError as error:
        raise Invalid(first_errors(error.errors(include_url=False), _error)) from None
    errors = [*_errors_of_fields(written), *_errors_of_draws(written), *_errors_of_adaptive(written)]
    if errors := errors or _errors_of_size(written):
        raise Invalid(errors)
    return written


def _error(error: Any) -> SpecError:
    loc = tuple(error["loc"])
    if error["type"] == "model_type" and not loc:
        return SpecError(loc, A_SWEEP, "model_type")
    if loc[-1:] == ("[key]",) or error["type"] == "invalid_key":
        return SpecError(tuple(step for step in loc if step != "[key]"), NO_FIELD, "key")
    if error["type"] == "extra_forbidden":
        known = WrittenSweep.model_fields if len(loc) == 1 else Distribution.model_fields
        meant = suggestion(str(loc[-1]), known).strip()
        return SpecError(loc, f"unknown field; {meant or 'choose from ' + ', '.join(known)}", "unknown_field")
    return SpecError(loc, message(error), error["type"])


def _errors_of_fields(written: WrittenSweep) -> list[SpecError]:
    if not written.grid and not written.random:
        wrong = 'a sweep needs at least one field; give values of it, as {"norm.eps": [1e-5, 1e-3]}, or use random'
        return [SpecError(("grid",), wrong, "missing")]
    twice = [
        SpecError(("random", path), "the grid has this field, too; remove it from grid or from random", "twice")
        for path in written.random
        if path in written.grid
    ]
    named = [("grid", path) for path in written.grid] + [("random", path) for path in written.random]
    found = [(loc, _wrong_path(loc[1])) for loc in named]
    return twice + [SpecError(loc, wrong, "unknown_field") for loc, wrong in found if wrong]


def _wrong_path(path: str) -> str | None:
    if path.count(".") > MAX_LEVELS:
        return "no field of a spec is so deep; write it as norm.eps"
    part, *fields = path.split(".")
    if part in OF_ALL_CELLS:
        return f"{part} are the same for all cells; write them into the sweep's spec"
    if part not in HASHED:
        return f"this is not a field that a result depends on; {choose(part, HASHED)}, as norm.eps"
    return None if all(fields) else "a field's name is empty; write it as norm.eps"


def _errors_of_draws(written: WrittenSweep) -> list[SpecError]:
    if written.random and written.samples is None:
        return [SpecError(("samples",), "say how many draws to make of random's fields", "missing")]
    if written.samples is not None and not written.random:
        wrong = "nothing is drawn, because random is empty; leave samples out, or add fields to random"
        return [SpecError(("samples",), wrong, "unused")]
    return []


def _errors_of_adaptive(written: WrittenSweep) -> list[SpecError]:
    if not written.adaptive:
        return []
    errors = []
    if "seeds" in written.spec:
        wrong = (
            f"an adaptive sweep chooses its seeds, 0 to {FIRST_SEEDS - 1} and as many more as it takes; leave them out"
        )
        errors.append(SpecError(("spec", "seeds"), wrong, "adaptive"))
    if written.n_cells > MAX_ADAPTIVE_CELLS:
        wrong = f"an adaptive sweep may have {MAX_ADAPTIVE_CELLS} cells, and this has {written.n_cells:,}"
        errors.append(SpecError(("adaptive",), f"{wrong}; use false, or fewer values", "too_many"))
    return errors


def _errors_of_size(written: WrittenSweep) -> list[SpecError]:
    where = ("grid",) if written.grid else ("samples",)
    if written.n_cells > MAX_CELLS:
        wrong = f"{written.n_cells:,} cells, and a sweep may have {MAX_CELLS:,}; use fewer values or draws"
        return [SpecError(where, wrong, "too_many")]
    if written.most_runs > MAX_RUNS:
        wrong = f"{written.most_runs:,} runs, and a sweep may have {MAX_RUNS:,}; use fewer values, draws or seeds"
        return [SpecError(where, wrong, "too_many")]
    return []

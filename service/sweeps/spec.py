"""A sweep as a user writes it. The numbers of cells and runs are checked before any cell is made."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from normcore.spec import SpecError
from normcore.spec.errors import first_errors
from normcore.spec.messages import line, message
from normcore.spec.resolve import TASKS
from normcore.spec.unknown_fields import unknown_field
from normcore.spec.wrong_values import OF_A_SWEEP
from service.errors import Invalid
from service.http.bodies import A_SWEEP
from service.http.schemas import WrittenSpec
from service.http.sizes import MAX_LEVELS
from service.sweeps import advice
from service.sweeps.distribution import Distribution, SweepPart
from service.sweeps.draft import SweepDraft
from service.sweeps.ranges import find_distribution

MAX_AXES = 20
MAX_CELLS = 1_000
MAX_RUNS = 10_000
MAX_ADAPTIVE_CELLS = 32  # every pair of cells is compared after each step
FIRST_SEEDS = 3  # seeds with which each cell of an adaptive sweep begins
MAX_SEEDS = 20
ITS_OWN_SEEDS = (
    f"an adaptive sweep chooses its seeds, 0 to {FIRST_SEEDS - 1} and as many more as it takes; leave them out"
)
NO_FIELD = "a field's name is text, as norm.eps; put the name into quotes"
NO_DISTRIBUTION = ("model_type", "model_attributes_type", "extra_forbidden", "list_type")


class WrittenSweep(SweepPart):
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
        draft = SweepDraft(body)
        errors = first_errors(error.errors(include_url=False), lambda e: _error(e, draft))
        raise Invalid(list(dict.fromkeys(errors))) from None
    errors = [*_errors_of_fields(written), *_errors_of_draws(written), *_errors_of_adaptive(written)]
    if errors := errors or _errors_of_size(written):
        raise Invalid(errors)
    return written


def _error(error: Any, draft: SweepDraft) -> SpecError:
    loc = tuple(error["loc"])
    if error["type"] == "model_type" and not loc:
        return SpecError(loc, A_SWEEP, "model_type")
    if error["type"] == "invalid_key" or (loc[2:] == ("[key]",) and error["type"] != "extra_forbidden"):
        return SpecError(loc[:2], NO_FIELD, "key")
    if loc == OF_A_SWEEP:
        is_missing = error["type"] == "missing" or error["input"] is None
        wrong = "it is required" if is_missing else "expected an object"
        return SpecError(loc, f"{wrong}; {advice.where_the_spec_is(draft)}", "missing" if is_missing else error["type"])
    if loc[0] in advice.EXAMPLES:
        return _error_of_axis(error, loc, draft)
    if loc in (("seeds",), ("seed",)) and draft.body.get("adaptive") is True:
        return SpecError(loc, ITS_OWN_SEEDS, "adaptive")
    if error["type"] == "extra_forbidden":
        return SpecError(loc, unknown_field(loc, error["input"], _parts(draft), TASKS), "unknown_field")
    return SpecError(loc, message(error), error["type"])


def _error_of_axis(error: Any, loc: tuple[Any, ...], draft: SweepDraft) -> SpecError:
    """Convert an error in the grid or in the random fields."""
    axis, kind = loc[0], error["type"]
    if len(loc) == 1:
        example = f"; as {line((axis,), advice.EXAMPLES[axis])}" if kind == "dict_type" else ""
        return SpecError(loc, f"{message(error)}{example}", kind)
    if not isinstance(loc[1], str) or loc[1] not in draft.body[axis]:  # pydantic writes null as None
        return SpecError(loc[:2], NO_FIELD, "key")
    nested = advice.advise_dotted_names(draft, axis, loc[1])
    if nested is not None:
        return SpecError(loc[:2], nested, "dotted_name")
    if axis == "random" and kind in NO_DISTRIBUTION:
        return _error_of_distribution(error, loc, draft)
    if axis == "grid" and kind == "list_type":
        return SpecError(loc, advice.advise_values(draft, loc[1], error["input"]), kind)
    return SpecError(loc, message(error), kind)


def _error_of_distribution(error: Any, loc: tuple[Any, ...], draft: SweepDraft) -> SpecError:
    """Convert an error of a value that is not a distribution, or that has other fields than a distribution has."""
    given, kind = draft.body["random"][loc[1]], error["type"]
    advised = advice.advise_distribution(draft, loc[1], given)
    if kind != "extra_forbidden":
        return SpecError(loc, advised, kind)
    close = find_distribution(loc[-1])
    if close and len(given) == 1:
        return SpecError(loc, f"unknown field; did you mean '{close}'? {advised}", "unknown_field")
    if given.keys() & Distribution.model_fields.keys() - {"choice"}:
        known = unknown_field(loc, error["input"], {loc[:-1]: Distribution}, TASKS)
        return SpecError(loc, known, "unknown_field")
    return SpecError(loc[:2], advised, "unknown_field")


def _parts(draft: SweepDraft) -> dict[tuple[str | int, ...], type[BaseModel]]:
    """Return the class of each part of a sweep, by path."""
    return {(): WrittenSweep, **{(*OF_A_SWEEP, *path): part for path, part in draft.own_parts.items()}}


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
    draft = SweepDraft({"spec": written.spec, "grid": written.grid, "random": written.random})
    found = [(loc, _wrong_path(loc[0], loc[1], written, draft)) for loc in named]
    return twice + [SpecError(loc, wrong, "unknown_field") for loc, wrong in found if wrong]


def _wrong_path(axis: str, path: str, written: WrittenSweep, draft: SweepDraft) -> str | None:
    if path.count(".") > MAX_LEVELS:
        return "no field of a spec is so deep; write it as norm.eps"
    refused = advice.refuse_name(draft, axis, path)
    if refused is not None:
        return refused
    values = written.grid[path] if axis == "grid" else written.random[path].model_dump(exclude_none=True)
    meant = advice.meant_axis(draft, axis, path, values)
    if axis == "random" and isinstance(values, dict):
        meant = advice.advise_whole_numbers(draft, path, values) or meant
    return meant


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
        errors.append(SpecError(("spec", "seeds"), ITS_OWN_SEEDS, "adaptive"))
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

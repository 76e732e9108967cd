"""Expansion of a sweep into its cells: the values of each cell, and the spec with these values."""

import itertools
import json
import math
import random
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from normcore.footprint import Footprint, footprint
from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from normcore.spec.messages import brief, quote_value
from service.errors import Invalid
from service.experiments import validation
from service.sweeps.cell_errors import CellError, Values, repair_values
from service.sweeps.spec import WrittenSweep

MAX_ERRORS = 1000  # errors of all cells, after which no other cell is checked
MAX_OF_ONE = 50  # errors of one cell, after which no other cell is checked
MAX_REFUSED = 50  # cells that ask for what is missing, after which no other cell is checked; each takes milliseconds
MAX_LETTERS = 200  # letters of a cell's name
TRIES = 100  # tries for each wanted draw, until it is clear that there are no more different draws


class CellSpec(NamedTuple):
    """A combination of values, the spec with these values, and the memory of its runs."""

    values: Values
    spec: ExperimentSpec
    fingerprint: str
    needed: Footprint | None


def cells(written: WrittenSweep, datasets_dir: Path | None) -> list[CellSpec]:
    """Make all cells of a sweep. The grid's first field changes slowest, and the draws change fastest.

    Raises:
        Invalid: cells do not fit (the errors name each cell by its values), or two cells are the same experiment.
    """
    all_values = assignments(written)
    found, refused = list[CellSpec](), list[CellError]()
    for values in all_values:
        try:
            spec = validation.resolve_and_pin(spec_of(written, values), datasets_dir)
            found.append(CellSpec(values, spec, spec.fingerprint(), footprint(spec)))
        except Invalid as refusal:
            refused.append(CellError(values, refusal.errors))
            if len(refusal.errors) > MAX_OF_ONE or sum(len(cell.errors) for cell in refused) > MAX_ERRORS:
                break
    if refused:
        raise Invalid(_errors(written, refused, len(found) + len(refused), len(all_values)))
    if errors := _doubles(found) or _of_several_boards(written, found):
        raise Invalid(errors)
    return found


def name_of(values: Values) -> str:
    """Name of a cell: its fields and values, as ``norm.gain_init=0.1, norm.method="layer_norm"``."""
    name = ", ".join(f"{path}={brief(value, MAX_LETTERS)}" for path, value in values.items())
    return name if len(name) <= MAX_LETTERS else name[: MAX_LETTERS - 1] + "…"


def _name_cell(error: SpecError, values: Values) -> SpecError:
    """Add the name of the cell to an error of the sweep."""
    return SpecError(error.loc, f"does not fit in the cell {name_of(values)}: {error.msg}", error.type)


def assignments(written: WrittenSweep) -> list[Values]:
    """List the values of each cell: every combination of the grid with every draw."""
    draws = _draws(written) if written.random else [{}]
    return [
        {**dict(zip(written.grid, combination, strict=True)), **draw}
        for combination in itertools.product(*written.grid.values())
        for draw in draws
    ]


def _draws(written: WrittenSweep) -> list[Values]:
    """Make the wanted number of draws, no two alike. Each field has a random source of its own, so that another field
    or more samples change no draw.

    Raises:
        Invalid: there are fewer different draws than wanted.
    """
    wanted = written.samples or 0
    choices = {path: _number_values(of.choice) for path, of in written.random.items() if of.choice is not None}
    if len(choices) == len(written.random):
        _check_enough(math.prod(len(set(numbers.values())) for numbers in choices.values()), wanted)
    sources = {path: random.Random(f"{written.sampler_seed} {path}") for path in written.random}
    found: dict[Hashable, Values] = {}
    for _ in range(TRIES * wanted):
        draw = {path: of.draw(sources[path]) for path, of in written.random.items()}
        known = tuple(choices[path][id(value)] if path in choices else value for path, value in draw.items())
        found.setdefault(known, draw)
        if len(found) == wanted:
            break
    _check_enough(len(found), wanted)
    return list(found.values())


def _check_enough(found: int, wanted: int) -> None:
    if found < wanted:
        wrong = f"only {found} different draws were found; set samples to {found} or fewer, or use a grid"
        raise Invalid([SpecError(("samples",), wrong, "too_many")])


def _number_values(choice: Sequence[Any]) -> Mapping[int, int]:
    """Number the values of a choice, by ``id``; equal values have the same number. Numbers are compared instead of
    values, because values may be long, and are drawn often.
    """
    numbers: dict[str, int] = {}
    return {id(value): numbers.setdefault(json.dumps(value), len(numbers)) for value in choice}


def spec_of(written: WrittenSweep, values: Values) -> Mapping[str, Any]:
    """Write a cell's spec, as a user would write it.

    Raises:
        Invalid: a path leads below a value that has no fields.
    """
    spec: Mapping[str, Any] = {**written.spec, **({"seeds": list(written.seeds)} if written.adaptive else {})}
    for path in sorted(values, key=lambda path: path.count(".")):  # a part before its fields
        spec = _with(spec, path.split("."), values[path])
    return spec


def _with(part: Any, path: Sequence[str], value: Any, above: Sequence[str] = ()) -> Any:
    """Copy a part of a spec with this value at the path. ``above`` is the path to the part."""
    if not path:
        return value
    if isinstance(part, Mapping):
        return {**part, path[0]: _with(part.get(path[0], {}), path[1:], value, (*above, path[0]))}
    if len(above) == 1:  # the check of the spec refuses the part
        return part
    named = quote_value(".".join(path))
    wrong = f"{'.'.join(above)} is {brief(part, MAX_LETTERS)}, which has no field {named}; leave that out"
    raise Invalid([SpecError((*above, *path), wrong, "unknown_field")])


def _errors(written: WrittenSweep, refused: Sequence[CellError], tried: int, n_cells: int) -> list[SpecError]:
    """List the errors of a sweep's cells. An error of all cells is listed once, and so is an error of values that can
    be repaired. Any other error is listed for each cell."""
    repaired, refused = repair_values(written, refused)
    of_all = set.intersection(*(set(cell.errors) for cell in refused)) if len(refused) == tried else set()
    errors = [*(e for e in refused[0].errors if e in of_all), *repaired]
    errors += [_name_cell(e, cell.values) for cell in refused for e in cell.errors if e not in of_all]
    if tried < n_cells:
        errors.append(SpecError((), f"too many errors; {n_cells - tried:,} cells were not checked", "more"))
    return errors


def _doubles(found: Sequence[CellSpec]) -> list[SpecError]:
    first: dict[str, CellSpec] = {}
    errors = []
    for cell in found:
        known = first.setdefault(cell.fingerprint, cell)
        if known is not cell:
            wrong = f"{name_of(cell.values)} is the same experiment as {name_of(known.values)}; leave one of them out"
            errors.append(SpecError(("grid",), wrong, "duplicate"))
    return errors


def _of_several_boards(written: WrittenSweep, found: Sequence[CellSpec]) -> list[SpecError]:
    if not written.adaptive:
        return []
    tasks = {json.dumps(cell.spec.task.model_dump(mode="json"), sort_keys=True) for cell in found}
    if len(tasks) == 1 and isinstance(found[0].spec, TrainingSpec):
        return []
    wrong = "all cells of an adaptive sweep must train one task with the same options; use false"
    return [SpecError(("adaptive",), wrong, "adaptive")]


def check_at_hand(session: Session, written: WrittenSweep, found: Sequence[CellSpec], heartbeat_seconds: float) -> None:
    """Check that this service has now what the cells ask for: trained models, kernels and memory.

    Raises:
        Invalid: something is missing for some cells; the errors name each cell.
    """
    refused = []
    for tried, cell in enumerate(found, start=1):
        try:
            validation.check_at_hand(session, cell.spec, cell.needed, heartbeat_seconds)
        except Invalid as refusal:
            refused.append(CellError(cell.values, refusal.errors))
            if len(refused) == MAX_REFUSED:
                raise Invalid(_errors(written, refused, tried, len(found))) from refusal
    if refused:
        raise Invalid(_errors(written, refused, len(found), len(found)))

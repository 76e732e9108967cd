"""Errors of a sweep's cells as errors of the sweep: the place of the wrong value, and a line of the sweep to write."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from normcore.spec import SpecError
from normcore.spec.advice_check import nest
from normcore.spec.blanks import BLANK
from normcore.spec.messages import Advice
from normcore.spec.spelling import CHOICES
from service.sweeps.spec import WrittenSweep

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?")
Values = Mapping[str, Any]  # by dotted path
Loc = tuple[str | int, ...]


class CellError(NamedTuple):
    """A combination of values that does not fit, and the errors."""

    values: Values
    errors: Sequence[SpecError]


class Repair(NamedTuple):
    """Repair of a value in a sweep: the dotted name of its field, and the value to write."""

    path: str
    value: Any


class _Repairs(NamedTuple):
    """Repairs of the values of one field of the sweep, by the ``id`` of the value; None if nobody can repair it."""

    values: Sequence[Any]
    found: dict[int, Repair | None]
    first: list[SpecError]  # the first error that can be repaired

    def add(self, path: str, value: Any, error: SpecError) -> None:
        """Add the repair of an error. A value with several errors is repaired field by field."""
        before = self.found.get(id(value), Repair(path, value))
        repair = before and _repair(path, before.value, error)
        self.found[id(value)] = repair
        if repair is not None and not self.first:
            self.first.append(error)

    def mends(self, value: Any) -> bool:
        """Tell if the value has errors, all of which can be repaired."""
        return self.found.get(id(value)) is not None

    def merge(self, place: Loc, named: Collection[str]) -> SpecError | None:
        """Merge all errors that can be repaired; None if there are no such errors.

        Args:
            named: fields of the sweep. A repair that has the name of another field is not written.
        """
        path = next((repair.path for repair in self.found.values() if repair is not None), None)
        if path is None:
            return None
        [error] = self.first
        advice = cast(Advice, error.msg)  # else nobody could repair the value
        if path != place[1] and path in named:
            wrong = f"{advice.without_line()}; the sweep has {path}, too; remove one of them"
            return SpecError(place, wrong, error.type)
        values = _list_repairs(path, self.values, self.found)
        axis = str(place[0])
        return SpecError(
            place, advice.with_line((axis, path), values if axis == "grid" else {"choice": values}), error.type
        )


def repair_values(written: WrittenSweep, refused: Sequence[CellError]) -> tuple[list[SpecError], list[CellError]]:
    """Merge errors of values that can be repaired: one error for each field of the sweep, with all of its values.

    Returns:
        The merged errors, and the cells with their other errors. All errors have the place in the sweep.
    """
    repairs = {(axis, path): _Repairs(values, {}, []) for axis, path, values in _list_values(written)}
    places = {error.loc: find_place(error, written) for cell in refused for error in cell.errors}
    for cell in refused:
        for error in cell.errors:
            axis, path = map(str, places[error.loc][:2]) if len(places[error.loc]) > 1 else ("", "")
            if (axis, path) in repairs:
                repairs[axis, path].add(path, cell.values[path], error)
    named = {*written.grid, *written.random}
    merged = [of_field.merge(place, named) for place, of_field in repairs.items()]
    others = [CellError(cell.values, [*_place_others(written, cell, places, repairs)]) for cell in refused]
    return [error for error in merged if error is not None], others


def _place_others(
    written: WrittenSweep, cell: CellError, places: Mapping[Loc, Loc], repairs: Mapping[tuple[str, str], _Repairs]
) -> Iterator[SpecError]:
    """Yield the errors of a cell that nobody can repair, each with its place in the sweep."""
    for error in cell.errors:
        place = places[error.loc]
        of_field = repairs.get((str(place[0]), str(place[-1] if len(place) == 1 else place[1])))
        if of_field is None or not of_field.mends(cell.values[str(place[1])]):
            yield _place(error, place, written)


def find_place(error: SpecError, written: WrittenSweep) -> Loc:
    """Find the place in the sweep that gave a field its value: the grid, the random fields, or else the spec."""
    fields = [str(step) for step in error.loc]
    for length in range(len(fields), 0, -1):
        path = ".".join(fields[:length])
        for axis, over in (("grid", written.grid), ("random", written.random)):
            if path in over:
                return axis, path, *error.loc[length:]
    return "spec", *error.loc


def _list_values(written: WrittenSweep) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Yield the fields of the sweep whose values are listed: each with its axis and its values."""
    for path, values in written.grid.items():
        yield "grid", path, values
    for path, distribution in written.random.items():
        if distribution.choice is not None:
            yield "random", path, distribution.choice


def _repair(path: str, value: Any, error: SpecError) -> Repair | None:
    """Read what to write for a value from the line of a spec in the message; None if the line is about other fields."""
    advice = _find_line(error)
    steps, meant, inner = path.split("."), list[str](), advice and nest(advice.path, advice.value)
    for _ in steps:
        if not isinstance(inner, Mapping) or len(inner) != 1:
            return None
        [(name, inner)] = inner.items()
        meant.append(name)
    below = error.loc[len(steps) :]
    if meant[:-1] != steps[:-1] or (below and meant != steps):
        return None
    repaired = _merge(_without(value, below), inner) if below else inner
    return Repair(".".join(meant), repaired if _find_numbers(repaired) <= _find_numbers(value) else BLANK)


def _find_numbers(value: Any) -> set[float]:
    """Find the numbers in a value, also in its texts."""
    return {float(number) for number in NUMBER.findall(json.dumps(value, default=str, ensure_ascii=False))}


def _without(value: Any, path: Loc) -> Any:
    """Copy an object without the field of this path."""
    if not isinstance(value, Mapping):
        return value
    rest = {name: inner for name, inner in value.items() if name != path[0]}
    return {**rest, path[0]: _without(value[path[0]], path[1:])} if len(path) > 1 and path[0] in value else rest


def _merge(value: Any, over: Any) -> Any:
    """Merge two objects, also the objects inside them."""
    if not isinstance(value, Mapping) or not isinstance(over, Mapping):
        return over
    return {**value, **{name: _merge(value.get(name), inner) for name, inner in over.items()}}


def _list_repairs(path: str, values: Sequence[Any], repaired: Mapping[int, Repair | None]) -> list[Any]:
    """List the repaired values of a field of the sweep. Values that nobody can repair are blanks."""
    repairs = [repaired.get(id(value), Repair(path, value)) for value in values]
    return _drop_doubles([BLANK if repair is None else repair.value for repair in repairs])


def _drop_doubles(values: Sequence[Any]) -> list[Any]:
    """Keep the first of equal values, but all blanks."""
    first = {json.dumps(value, default=str): k for k, value in reversed([*enumerate(values)])}
    return [value for k, value in enumerate(values) if value == BLANK or first[json.dumps(value, default=str)] == k]


def _place(error: SpecError, loc: Loc, written: WrittenSweep) -> SpecError:
    """Convert an error of a cell's spec to an error of the sweep, with a line of the sweep if there is one."""
    advice = _find_line(error)
    if advice is None:
        return SpecError(loc, error.msg, error.type)
    in_spec = advice.with_line(("spec", *advice.path), advice.value)
    return SpecError(loc, in_spec if loc[0] == "spec" else _advise_tag(advice, written), error.type)


def _advise_tag(advice: Advice, written: WrittenSweep) -> str:
    """Write advice that chooses a method, and gives one of its options, for the sweep. Its spec takes the method,
    unless the sweep has several methods. Other lines of a spec are left out.
    """
    [(part, fields)] = nest(advice.path, advice.value).items()
    tag = CHOICES.get(part, ("",))[0]
    swept = {*written.grid, *written.random} & {part, f"{part}.{tag}"}
    if not swept and isinstance(fields, Mapping) and tag in fields:
        return advice.with_line(("spec", part, tag), fields[tag])
    return advice.without_line()


def _find_line(error: SpecError) -> Advice | None:
    """Return the advice of an error if it has the line of a field. A line may also be an item of a list."""
    advice = error.msg if isinstance(error.msg, Advice) else None
    return advice if advice and advice.path and all(isinstance(step, str) for step in advice.path) else None

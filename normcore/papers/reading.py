"""Reader of a paper's YAML file. Error messages name the file, the entry and the field."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

from pydantic import ValidationError

from normcore.papers.entries import Curve, Paper, Result
from normcore.spec.files import load_yaml
from normcore.spec.messages import choose
from normcore.spec.methods import METHODS

T = TypeVar("T", Paper, Result, Curve)
PARTS = ("paper", "results", "curves")


class InvalidPaper(ValueError):
    """A file does not have the form of a paper; the message names the file, the entry and the field."""


def read(file: Traversable) -> Paper:
    """Read the paper in one YAML file.

    Raises:
        InvalidPaper: the file does not have the form of a paper.
    """
    try:
        loaded = load_yaml(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidPaper(f"{file.name}: {error}") from error
    written = _object(loaded, file.name)
    for name in written.keys() - set(PARTS):
        raise InvalidPaper(f"{file.name}: {name}: unknown field; {choose(name, PARTS)}")
    paper = _make_entry(Paper, written.get("paper"), f"{file.name}: paper")
    return replace(
        paper,
        results=tuple(
            _with_known_method(_make_entry(Result, entry, place), place)
            for place, entry in _entries(written, "results", file.name, paper.short_name)
        ),
        curves=tuple(
            _make_entry(Curve, entry, place)
            for place, entry in _entries(written, "curves", file.name, paper.short_name)
        ),
    )


def _entries(written: Mapping[str, Any], part: str, file: str, short_name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read each row of ``part``: its place in the file, and its fields, the fields of its group, and a citation."""
    for k, group in enumerate(_list(written.get(part, []), f"{file}: {part}")):
        place = f"{file}: {part}[{k}]"
        shared = dict(_object(group, place))
        for n, row in enumerate(_list(shared.pop("rows", None), f"{place}.rows")):
            here = f"{place}.rows[{n}]"
            for twice in shared.keys() & _object(row, here).keys():
                raise InvalidPaper(f"{here}.{twice}: the row's group has this field, too; remove one of the two")
            entry = shared | row
            if "citation" in entry:
                raise InvalidPaper(f"{here}.citation: made from the paper's short name and `where`; remove this field")
            yield here, {**entry, "citation": f"{short_name}, {entry.get('where')}"}


def _with_known_method(result: Result, place: str) -> Result:
    if result.method is not None and result.method not in METHODS:
        raise InvalidPaper(f"{place}.method: unknown '{result.method}'; {choose(result.method, METHODS)}")
    return result


def _make_entry(kind: type[T], fields: Any, place: str) -> T:
    try:
        return kind(**_object(fields, place))
    except ValidationError as error:
        raise InvalidPaper("; ".join(_list_faults(error, place))) from error


def _list_faults(error: ValidationError, place: str) -> Iterator[str]:
    for one in error.errors():
        yield f"{'.'.join([place, *map(str, one['loc'])])}: {one['msg']}"


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidPaper(f"{place}: expected an object of fields")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidPaper(f"{place}: expected a list")
    return value

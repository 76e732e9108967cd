"""Advice on sweeps that cannot be read: the line to write instead."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from normcore.spec import TrainingSpec
from normcore.spec.messages import line
from normcore.spec.resolve import parts_of
from normcore.spec.unknown_fields import OF_A_SWEEP, USUAL_TASK, elsewhere
from service.sweeps.distribution import Distribution

TAGS = ("task.name", "model.cell", "norm.method")  # fields that choose which other fields there are
MAX_TRIED = 20  # values of each tag that are tried, and fields of an object that are named
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "grid": {"norm.method": ["none", "layer_norm"]},
    "random": {"training.optimizer.lr": {"log_uniform": [1e-4, 1e-2]}},
}


def where_the_spec_is(body: Mapping[str, Any]) -> str:
    """Write advice for a sweep without ``spec``: put the fields of a spec that stand beside ``grid`` below it."""
    fields = {name: value for name, value in body.items() if name in TrainingSpec.model_fields}
    if not fields:
        return f"add {line(OF_A_SWEEP, {'task': {'name': USUAL_TASK}})}"
    return f"put {' and '.join(fields)} below spec; write {line(OF_A_SWEEP, fields)}"


def nested(body: Mapping[str, Any], axis: str, name: str) -> str | None:
    """Write advice for objects in the grid, or in the random fields, that stand for a part of the spec: the dotted
    names. None if ``name`` is a field."""
    values = mapping(body[axis]).get(name)
    found = _fields(body, axis, (name,), values)
    fields = dict(islice(found, MAX_TRIED)) if isinstance(values, Mapping) else {name: values}
    if list(fields) == [name]:
        return None
    return f"a field is written with its dotted name; write {line((axis,), fields)}"


def no_distribution(body: Mapping[str, Any], name: str, value: Any) -> str:
    """Write advice for a value of ``random`` that is no object."""
    path, names = path_of(body, name) or name, Distribution.model_fields
    return f"expected one of {', '.join(names)}; write {line(('random', path), _distribution(value))}"


def path_of(body: Mapping[str, Any], path: str) -> str | None:
    """Find the dotted name of the field that ``path`` may mean, as ``training.optimizer.lr`` for ``lr``; None if no
    field has such a name."""
    *above, name = path.split(".")
    for spec in _specs(body):
        parts = parts_of(spec)
        if tuple(above) in parts and name in parts[tuple(above)].model_fields:
            return path
        found = elsewhere(name, tuple(above), parts)
        if found is not None:
            return ".".join(map(str, found))
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def _specs(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the sweep's spec with each value that the grid has for a tag; the spec alone comes last."""
    spec, grid = mapping(body.get("spec")), mapping(body.get("grid"))
    for tag in TAGS:
        part, field = tag.split(".")
        values = grid.get(tag)
        for value in islice(values, MAX_TRIED) if isinstance(values, list) else ():
            yield {**spec, part: {**mapping(spec.get(part)), field: value}}
    yield spec


def _fields(body: Mapping[str, Any], axis: str, path: Sequence[str], value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of the fields in nested objects, each with its values as ``axis`` takes them."""
    written = ".".join(path)
    meant = path_of(body, written)
    is_field = meant is not None and tuple(meant.split(".")) not in parts_of(mapping(body.get("spec")))
    if not is_field and isinstance(value, Mapping) and value and not set(value) & set(Distribution.model_fields):
        for name, inner in value.items():
            yield from _fields(body, axis, (*path, str(name)), inner)
    elif axis == "random":
        yield meant or written, _distribution(value)
    else:
        yield meant or written, value if isinstance(value, list) else [value]


def _distribution(value: Any) -> Any:
    """Guess the distribution that a value may mean: two numbers are a range, another list is a choice."""
    if isinstance(value, Mapping) and set(value) & set(Distribution.model_fields):
        return value
    if not isinstance(value, list) or not value:
        return EXAMPLES["random"]["training.optimizer.lr"]
    are_numbers = len(value) == 2 and all(type(bound) in (int, float) for bound in value)
    if not are_numbers or not value[0] < value[1]:
        return {"choice": value}
    if all(type(bound) is int for bound in value):
        return {"int_uniform": value}
    return {"log_uniform" if value[0] > 0 else "uniform": value}

"""Advice on sweeps that cannot be read: the line to write instead."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, get_args

from normcore.spec import TrainingSpec
from normcore.spec.messages import choose, line, quote_value, same_name
from normcore.spec.resolve import parts_of
from normcore.spec.spelling import CHOICES, as_it_is_spelt, choices, choices_with, is_another_tag
from normcore.spec.unknown_fields import EPOCHS, USUAL_TASK, elsewhere
from normcore.spec.wrong_values import OF_A_SWEEP
from service.blanks import BLANK, show_blanks
from service.sweeps.distribution import Distribution
from service.sweeps.ranges import is_normal, read_distribution, read_values

TAGS = ("task.name", "model.cell", "norm.method")  # fields that choose which other fields there are
TAG_OF = {"task": "name", **{part: tag for part, (tag, _) in CHOICES.items()}}  # of parts written as a single name
MAX_TRIED = 20  # values of each tag that are tried, and fields of an object that are named
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "grid": {"norm.method": ["none", "layer_norm"]},
    "random": {"training.optimizer.lr": {"log_uniform": [BLANK, BLANK]}},
}
KINDS = ", ".join(Distribution.model_fields)
SHAPE: Mapping[str, Any] = {"uniform": [BLANK, BLANK]}


def where_the_spec_is(body: Mapping[str, Any]) -> str:
    """Write advice for a sweep without ``spec``: put the fields of a spec that stand beside ``grid`` below it."""
    fields = {name: value for name, value in body.items() if name in TrainingSpec.model_fields}
    if not fields:
        return f"add {line(OF_A_SWEEP, {'task': {'name': USUAL_TASK}})}"
    return f"put {' and '.join(fields)} below spec; write {line(OF_A_SWEEP, fields)}"


def advise_dotted_names(body: Mapping[str, Any], axis: str, name: str) -> str | None:
    """Write advice for objects in the grid, or in the random fields, that stand for a part of the spec: the dotted
    names. None if ``name`` is a field."""
    values = mapping(body[axis]).get(name)
    found = _fields(body, axis, (name,), values)
    fields = dict(islice(found, MAX_TRIED)) if isinstance(values, Mapping) else {name: values}
    if list(fields) == [name]:
        return None
    return f"a field is written with its dotted name; write {show_blanks(line((axis,), fields))}"


def advise_values(body: Mapping[str, Any], name: str, given: Any) -> str:
    """Write advice for a value of the grid that is not a list."""
    path = path_of(body, name) or name
    if mapping(given).keys() & Distribution.model_fields.keys() - {"choice"}:
        return f"draws belong in random; write {line(('random', path), given)}"
    values = read_values(given)
    if values is None:
        return f"expected a list of values, as {show_blanks(line(('grid', path), [BLANK]))}"
    return f"expected a list; write {line(('grid', path), as_it_is_spelt(path.split('.'), values))}"


def advise_distribution(body: Mapping[str, Any], name: str, given: Any) -> str:
    """Write advice for a value of ``random`` that is not a distribution."""
    path = path_of(body, name) or name
    meant = read_distribution(given, is_whole=_is_whole(body, path))
    if meant is not None:
        return f"a distribution is an object of its name and its range; write {line(('random', path), meant)}"
    shape = show_blanks(line(("random", path), SHAPE))
    told = "there is no normal distribution; " if is_normal(given) else ""
    return f"{told}choose from {KINDS}, as {shape}"


def advise_whole_numbers(body: Mapping[str, Any], path: str, distribution: Mapping[str, Any]) -> str | None:
    """Write advice for draws that are not whole, of a field that takes whole numbers; None if the draws are right."""
    meant = path_of(body, path) or path
    if distribution.keys() & {"int_uniform", "choice"} or not _is_whole(body, meant):
        return None
    ends = distribution.get("uniform", ())
    whole = [int(end) for end in ends if end.is_integer()]
    written = {"int_uniform": whole if len(whole) == 2 else [BLANK, BLANK]}
    return f"expected whole numbers; write {show_blanks(line(('random', meant), written))}"


def meant_axis(body: Mapping[str, Any], axis: str, path: str, values: Any) -> str | None:
    """Write advice for a field of the grid, or of the random fields, that has another name; None if the name is right
    or stands for no field.

    Args:
        values: values of the field, or its distribution. Names stand for the parts that have them as tags.
    """
    if path.rpartition(".")[2] in EPOCHS:
        shape = show_blanks(line((axis, "training.max_steps"), [BLANK] if axis == "grid" else SHAPE))
        return f"a training lasts for max_steps updates of batch_size examples each; write its updates, as {shape}"
    items = values if isinstance(values, list) else []
    meant = path_of(body, path)
    tag = TAG_OF.get(meant.rpartition(".")[2]) if meant else None
    if items and tag and all(isinstance(value, str) for value in items):
        meant = f"{meant}.{tag}"
    if meant is None:
        return None
    steps = meant.split(".")
    known, spelt = choices(steps), as_it_is_spelt(steps, values)
    if meant == path:
        is_misspelt = known and items and spelt != items and all(value in known for value in spelt)
        return f"write the names as they are known: {line((axis, path), spelt)}" if is_misspelt else None
    unknown = [value for value in spelt if not (isinstance(value, str) and value in known)] if known and items else []
    if unknown:
        return f"unknown {quote_value(unknown[0])} in {meant}; {choose(unknown[0], known)}"
    written = line((axis, meant), spelt if items else values)
    above, _, name = meant.rpartition(".")
    is_beside = above and above == path.rpartition(".")[0]
    return f"did you mean '{name}'? write {written}" if is_beside else f"write the whole name of the field: {written}"


def path_of(body: Mapping[str, Any], path: str) -> str | None:
    """Find the dotted name of the field that ``path`` may mean, as ``training.optimizer.lr`` for ``lr``; None if no
    field has such a name."""
    *above, name = path.split(".")
    if name in EPOCHS:
        return None
    if is_another_tag(path.split(".")):
        return ".".join([*above, CHOICES[above[-1]][0]])
    names = choices_with(above[-1], name).values() if above else ()
    if names:
        return ".".join([*above, name if name in names else next(iter(names))])
    for spec in _specs(body):
        parts = parts_of(spec)
        own = same_name(name, parts[tuple(above)].model_fields) if tuple(above) in parts else None
        if above and own is not None:
            return ".".join([*above, own])
        if tuple(above) in parts and name in parts[tuple(above)].model_fields:
            return path
        found = elsewhere(name, tuple(above), parts)
        if found is not None:
            return ".".join(map(str, found))
    having = ((part, choices_with(str(part[-1]), name)) for part in parts_of(mapping(body.get("spec"))) if part)
    return next((".".join([*map(str, part), *list(names.values())[:1]]) for part, names in having if names), None)


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
        distribution = read_distribution(value, is_whole=_is_whole(body, meant or written))
        yield meant or written, SHAPE if distribution is None else distribution
    else:
        yield meant or written, read_values(value) or [BLANK]


def _is_whole(body: Mapping[str, Any], path: str) -> bool | None:
    """Tell if the field of this dotted name takes only whole numbers; None if no part has the field."""
    *above, name = path.split(".")
    parts = (parts_of(spec).get(tuple(above)) for spec in _specs(body))
    fields = (part.model_fields[name] for part in parts if part is not None and name in part.model_fields)
    found = next(fields, None)
    if found is None:
        return None
    return int in (found.annotation, *get_args(found.annotation)) and float not in get_args(found.annotation)

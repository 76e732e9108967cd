"""Advice on sweeps that cannot be read: the line to write instead."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from normcore.spec import TrainingSpec
from normcore.spec.blanks import BLANK
from normcore.spec.messages import choose, line, quote_value
from normcore.spec.spelling import CHOICES, as_it_is_spelt, choices
from normcore.spec.unknown_fields import EPOCHS, USUAL_TASK
from normcore.spec.wrong_values import OF_A_SWEEP
from service.sweeps.distribution import Distribution
from service.sweeps.draft import Draft, mapping
from service.sweeps.ranges import is_normal, read_distribution, read_values

TAG_OF = {"task": "name", **{part: tag for part, (tag, _) in CHOICES.items()}}  # of parts written as a single name
MAX_NAMED = 10  # fields of an object that are named; a line has no space for more
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "grid": {"norm.method": ["none", "layer_norm"]},
    "random": {"training.optimizer.lr": {"log_uniform": [BLANK, BLANK]}},
}
UPDATES = "training.max_steps"
KINDS = ", ".join(Distribution.model_fields)


def where_the_spec_is(draft: Draft) -> str:
    """Write advice for a sweep without ``spec``: put the fields of a spec that stand beside ``grid`` below it."""
    fields = {name: value for name, value in draft.body.items() if name in TrainingSpec.model_fields}
    if not fields:
        return f"add {line(OF_A_SWEEP, {'task': {'name': USUAL_TASK}})}"
    return f"put {' and '.join(fields)} below spec; write {line(OF_A_SWEEP, fields)}"


def advise_dotted_names(draft: Draft, axis: str, name: str) -> str | None:
    """Write advice for objects in the grid, or in the random fields, that stand for a part of the spec: the dotted
    names. None if ``name`` is a field. Each of many errors may ask for the same advice, so it is written once."""
    if (axis, name) not in draft.dotted_names:
        draft.dotted_names[axis, name] = _name_fields(draft, axis, name)
    return draft.dotted_names[axis, name]


def _name_fields(draft: Draft, axis: str, name: str) -> str | None:
    values = mapping(draft.body[axis]).get(name)
    found = _fields(draft, axis, (name,), values)
    fields = dict(islice(found, MAX_NAMED)) if isinstance(values, Mapping) else {name: values}
    if list(fields) == [name]:
        return None
    return f"a field is written with its dotted name; write {line((axis,), fields)}"


def advise_values(draft: Draft, name: str, given: Any) -> str:
    """Write advice for a value of the grid that is not a list."""
    path = draft.path_of(name) or name
    is_whole = draft.is_whole(path)
    if mapping(given).keys() & Distribution.model_fields.keys() - {"choice"}:
        meant = read_distribution(given, is_whole=is_whole)
        shown = f"; write {line(('random', path), meant)}" if meant else f", as {_write_shape(draft, path)}"
        return f"draws belong in random{shown}"
    values = read_values(given, is_whole=is_whole)
    if values is None:
        return f"expected a list of values, as {line(('grid', path), [BLANK])}"
    path = _add_tag(path, values)
    return f"expected a list; write {line(('grid', path), _spell(path, values))}"


def advise_distribution(draft: Draft, name: str, given: Any) -> str:
    """Write advice for a value of ``random`` that is not a distribution."""
    path = draft.path_of(name) or name
    meant = read_distribution(given, is_whole=draft.is_whole(path))
    if meant is not None:
        [(kind, values)] = meant.items()
        path = _add_tag(path, values)
        written = line(("random", path), {kind: _spell(path, values)})
        return f"a distribution is an object of its name and its range; write {written}"
    told = "there is no normal distribution; " if is_normal(given) else ""
    return f"{told}choose from {KINDS}, as {_write_shape(draft, path)}"


def _add_tag(path: str, values: Sequence[Any]) -> str:
    """Add the tag of a part to the part's name if the values are names, as ``norm.method`` for ``norm``."""
    tag = TAG_OF.get(path.rpartition(".")[2])
    return f"{path}.{tag}" if tag and values and all(isinstance(value, str) for value in values) else path


def _spell(path: str, values: list[Any]) -> list[Any]:
    """Spell the values of a field that takes names; a name that is not known is a blank."""
    steps = path.split(".")
    known, spelt = choices(steps), as_it_is_spelt(steps, values)
    return [value if not known or (isinstance(value, str) and value in known) else BLANK for value in spelt]


def _write_shape(draft: Draft, path: str) -> str:
    """Write a distribution that the field takes, with blanks for its numbers."""
    return line(("random", path), _shape_of(draft, path))


def _shape_of(draft: Draft, path: str) -> Mapping[str, Any]:
    return {"int_uniform" if draft.is_whole(path) else "uniform": [BLANK, BLANK]}


def advise_whole_numbers(draft: Draft, path: str, distribution: Mapping[str, Any]) -> str | None:
    """Write advice for draws that are not whole, of a field that takes whole numbers; None if the draws are right."""
    meant = draft.path_of(path) or path
    if distribution.keys() & {"int_uniform", "choice"} or not draft.is_whole(meant):
        return None
    ends = distribution.get("uniform", ())
    whole = [int(end) for end in ends if end.is_integer()]
    written = {"int_uniform": whole if len(whole) == 2 else [BLANK, BLANK]}
    return f"expected whole numbers; write {line(('random', meant), written)}"


def meant_axis(draft: Draft, axis: str, path: str, values: Any) -> str | None:
    """Write advice for a field of the grid, or of the random fields, that has another name; None if the name is right
    or stands for no field.

    Args:
        values: values of the field, or its distribution. Names stand for the parts that have them as tags.
    """
    if path.rpartition(".")[2] in EPOCHS:
        shape = line((axis, UPDATES), [BLANK] if axis == "grid" else _shape_of(draft, UPDATES))
        return f"a training lasts for max_steps updates of batch_size examples each; write its updates, as {shape}"
    items = values if isinstance(values, list) else []
    meant = draft.path_of(path)
    if meant is None:
        return None
    meant = _add_tag(meant, items)
    steps = meant.split(".")
    known, spelt = choices(steps), as_it_is_spelt(steps, values)
    unknown = [value for value in spelt if not (isinstance(value, str) and value in known)] if known and items else []
    if meant == path:
        is_misspelt = known and items and spelt != items and not unknown
        return f"write the names as they are known: {line((axis, path), spelt)}" if is_misspelt else None
    if unknown:
        return f"unknown {quote_value(unknown[0])} in {meant}; {choose(unknown[0], known)}"
    written = line((axis, meant), spelt if items else values)
    other = _find_twin(draft, path, meant)
    if other is not None:
        return f"this means {meant}, and so does {other}; remove one of them"
    above, _, name = meant.rpartition(".")
    is_beside = above and above == path.rpartition(".")[0]
    return f"did you mean '{name}'? write {written}" if is_beside else f"write the whole name of the field: {written}"


def _find_twin(draft: Draft, path: str, meant: str) -> str | None:
    """Find another name in the sweep that means the same field as ``path``; None if there is no such name."""
    named = [name for axis in EXAMPLES for name in mapping(draft.body.get(axis)) if name != path]
    return next((name for name in named if meant in (name, draft.path_of(name))), None)


def _fields(draft: Draft, axis: str, path: Sequence[str], value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of the fields in nested objects, each with its values as ``axis`` takes them."""
    written = ".".join(path)
    meant = draft.path_of(written)
    is_field = meant is not None and tuple(meant.split(".")) not in draft.own_parts
    if not is_field and isinstance(value, Mapping) and value and not set(value) & set(Distribution.model_fields):
        for name, inner in value.items():
            yield from _fields(draft, axis, (*path, str(name)), inner)
        return
    field = meant or written
    if axis == "random":
        found = read_distribution(value, is_whole=draft.is_whole(field)) or _shape_of(draft, field)
        yield field, {kind: _spell(field, values) for kind, values in found.items()}
    else:
        yield field, _spell(field, read_values(value, is_whole=draft.is_whole(field)) or [BLANK])

"""Advice on sweeps that cannot be read: the line to write instead."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from normcore.spec import TrainingSpec
from normcore.spec.blanks import BLANK
from normcore.spec.experiment import HASHED
from normcore.spec.messages import choose, line, quote_value, same_name
from normcore.spec.resolve import TASKS
from normcore.spec.spelling import CHOICES, as_it_is_spelt, as_object, choices
from normcore.spec.unknown_fields import EPOCHS, USUAL_TASK
from normcore.spec.wrong_values import OF_A_SWEEP, takes
from service.sweeps.distribution import Distribution
from service.sweeps.draft import SweepDraft, mapping
from service.sweeps.ranges import is_normal, read_distribution, read_two_numbers, read_values

TAG_OF = {"task": "name", **{part: tag for part, (tag, _) in CHOICES.items()}}  # of parts written as a single name
SOME_NUMBERS = (0.5, 1, 2)  # a field that takes numbers takes one of them
MAX_SHOWN = 50  # values that are spelt; a line has no space for more
MAX_NAMED = 10  # fields of an object that are named; a line has no space for more
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "grid": {"norm.method": ["none", "layer_norm"]},
    "random": {"training.optimizer.lr": {"log_uniform": [BLANK, BLANK]}},
}
OF_ALL_CELLS = ("seeds", "device", "priority", "labels")
UPDATES = "training.max_steps"
KINDS = ", ".join(Distribution.model_fields)


def where_the_spec_is(draft: SweepDraft) -> str:
    """Write advice for a sweep without ``spec``: put the fields of a spec that stand beside ``grid`` below it."""
    found = {name: value for name, value in draft.body.items() if name in TrainingSpec.model_fields}
    fields = {name: _as_field(draft, name, value) for name, value in found.items()}
    if not fields:
        return f"add it, as {line(OF_A_SWEEP, {'task': {'name': USUAL_TASK}})}"
    return f"put {' and '.join(fields)} below spec; write {line(OF_A_SWEEP, fields)}"


def _as_field(draft: SweepDraft, name: str, value: Any) -> Any:
    """Write the value of a field at the top level of a spec, a single name as the part that it names. A value that the
    field does not take is a blank."""
    if takes((name,), value, draft.own_parts):
        return value
    if name == "task" and isinstance(value, str) and value in TASKS:
        return {"name": value}
    return as_object((name,), value if isinstance(value, list) else [value]) or BLANK


def advise_dotted_names(draft: SweepDraft, axis: str, name: str) -> str | None:
    """Write advice for objects in the grid, or in the random fields, that stand for a part of the spec: the dotted
    names. None if ``name`` is a field. Each of many errors may ask for the same advice, so it is written once."""
    if (axis, name) not in draft.dotted_names:
        draft.dotted_names[axis, name] = _name_fields(draft, axis, name)
    return draft.dotted_names[axis, name]


def _name_fields(draft: SweepDraft, axis: str, name: str) -> str | None:
    values = mapping(draft.body[axis]).get(name)
    found = _fields(draft, axis, (name,), values)
    fields = dict(islice(found, MAX_NAMED)) if isinstance(values, Mapping) else {name: values}
    if list(fields) == [name] or (list(fields) == [None] and draft.path_of(name) is None):
        return None
    if None in fields:
        return "a field is written with its dotted name, as norm.eps"
    return f"a field is written with its dotted name; write {line((axis,), fields)}"


def refuse_name(draft: SweepDraft, axis: str, path: str) -> str | None:
    """Say why a field cannot stand in the grid, or in the random fields; None if it may stand there."""
    part, *fields = path.split(".")
    shared = "seeds" if part == "seed" else same_name(part, OF_ALL_CELLS)
    if shared is not None:
        return f"all cells have the same {shared}; write {shared} into the sweep's spec"
    if path.rpartition(".")[2] in EPOCHS:
        shape = line((axis, UPDATES), [BLANK] if axis == "grid" else _shape_of(draft, UPDATES))
        return f"a training lasts for max_steps updates of batch_size examples each; write its updates, as {shape}"
    if part not in HASHED and draft.path_of(path) in (None, path):
        return f"this is not a field that a result depends on; {choose(part, HASHED)}, as norm.eps"
    return None if all(fields) else "a field's name is empty; write it as norm.eps"


def advise_values(draft: SweepDraft, name: str, given: Any) -> str:
    """Write advice for a value of the grid that is not a list."""
    refused, path = refuse_name(draft, "grid", name), draft.path_of(name)
    if refused is not None or path is None:
        return refused or "expected a list of values"
    is_whole = draft.is_whole(path)
    if mapping(given).keys() & Distribution.model_fields.keys() - {"choice"}:
        meant = _read(draft, path, given)
        shown = f"; write {line(('random', path), meant)}" if meant else f", as {_write_shape(draft, path)}"
        return f"draws belong in random{shown}"
    values = read_values(given, is_whole=is_whole)
    if values is None:
        return f"expected a list of values, as {line(('grid', path), [BLANK])}"
    path = _add_tag(path, values)
    spelt = _spell(draft, path, values)
    words = "expected a list of values, as" if set(map(str, spelt)) == {BLANK} else "expected a list; write"
    return f"{words} {line(('grid', path), spelt)}"


def advise_distribution(draft: SweepDraft, name: str, given: Any) -> str:
    """Write advice for a value of ``random`` that is not a distribution."""
    refused, path = refuse_name(draft, "random", name), draft.path_of(name)
    if refused is not None or path is None:
        return refused or f"choose from {KINDS}"
    path = _add_tag(path, mapping(read_distribution(given, is_whole=None)).get("choice", ()))
    meant = _read(draft, path, given)
    if meant is not None:
        written = line(("random", path), meant)
        return f"a distribution is an object of its name and its range; write {written}"
    told = "there is no normal distribution; " if is_normal(given) else ""
    numbers = read_two_numbers(given, is_whole=draft.is_whole(path))
    shape = line(("random", path), {BLANK: numbers}) if numbers else _write_shape(draft, path)
    return f"{told}choose from {KINDS}, as {shape}"


def _add_tag(path: str, values: Sequence[Any]) -> str:
    """Add the tag of a part to the part's name if the values are names, as ``norm.method`` for ``norm``."""
    tag = TAG_OF.get(path.rpartition(".")[2])
    return f"{path}.{tag}" if tag and values and all(isinstance(value, str) for value in values) else path


def _spell(draft: SweepDraft, path: str, values: Sequence[Any]) -> list[Any]:
    """Spell the first values of a field, as many as a line can show. A value that the field does not take is a
    blank."""
    spelt = as_it_is_spelt(path.split("."), [*values[:MAX_SHOWN]])
    if draft.is_whole(path):
        spelt = [int(value) if isinstance(value, float) and value.is_integer() else value for value in spelt]
    return [value if draft.takes(path, value) else BLANK for value in spelt]


def _write_shape(draft: SweepDraft, path: str) -> str:
    """Write a distribution that the field takes, with blanks for its numbers."""
    return line(("random", path), _shape_of(draft, path))


def _shape_of(draft: SweepDraft, path: str) -> Mapping[str, Any]:
    if not any(draft.takes(path, number) for number in SOME_NUMBERS):
        return {"choice": [BLANK]}
    return {"int_uniform" if draft.is_whole(path) else "uniform": [BLANK, BLANK]}


def _read(draft: SweepDraft, path: str, given: Any) -> Mapping[str, Any] | None:
    """Read a distribution; None if its meaning is not certain, or if the field does not take its numbers."""
    found = read_distribution(given, is_whole=draft.is_whole(path))
    if found is None:
        return None
    [(kind, values)] = found.items()
    if kind == "choice":
        return {kind: _spell(draft, path, values)}
    least, most = values
    ends = values if kind == "int_uniform" else [math.nextafter(least, most), math.nextafter(most, least)]
    return found if all(draft.takes(path, end) for end in ends) else None


def advise_whole_numbers(draft: SweepDraft, path: str, distribution: Mapping[str, Any]) -> str | None:
    """Write advice for draws that are not whole, of a field that takes whole numbers; None if the draws are right."""
    meant = draft.path_of(path) or path
    if distribution.keys() & {"int_uniform", "choice"} or not draft.is_whole(meant):
        return None
    written = _read(draft, meant, distribution) or _shape_of(draft, meant)
    return f"expected whole numbers; write {line(('random', meant), written)}"


def meant_axis(draft: SweepDraft, axis: str, path: str, values: Any) -> str | None:
    """Write advice for a field of the grid, or of the random fields, that has another name; None if the name is right
    or stands for no field.

    Args:
        values: values of the field, or its distribution. Names stand for the parts that have them as tags.
    """
    items = values if isinstance(values, list) else mapping(values).get("choice", [])
    meant = draft.path_of(path)
    if meant is None:
        return None
    meant = _add_tag(meant, items)
    steps = meant.split(".")
    known, spelt = choices(steps), _spell(draft, meant, items)
    unknown = [value for value, shown in zip(items, spelt, strict=False) if known and shown == BLANK]
    fields = {"choice": spelt} if items else _read(draft, meant, values) or _shape_of(draft, meant)
    written = line((axis, meant), spelt if axis == "grid" else fields)
    if meant == path:
        is_misspelt = known and spelt != items[:MAX_SHOWN] and not unknown
        return f"write the names as they are known: {written}" if is_misspelt else None
    if unknown:
        return f"unknown {quote_value(unknown[0])} in {meant}; {choose(unknown[0], known)}"
    other = _find_twin(draft, path, meant)
    if other is not None:
        return f"this means {meant}, and so does {other}; remove one of them"
    above, _, name = meant.rpartition(".")
    is_beside = above and above == path.rpartition(".")[0]
    return f"did you mean '{name}'? write {written}" if is_beside else f"write the whole name of the field: {written}"


def _find_twin(draft: SweepDraft, path: str, meant: str) -> str | None:
    """Find another name in the sweep that means the same field as ``path``; None if there is no such name."""
    named = [name for axis in EXAMPLES for name in mapping(draft.body.get(axis)) if name != path]
    return next((name for name in named if meant in (name, draft.path_of(name))), None)


def _fields(draft: SweepDraft, axis: str, path: Sequence[str], value: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield the dotted names of the fields in nested objects, each with its values as ``axis`` takes them. The name is
    None if no field has it."""
    written = ".".join(path)
    meant = draft.path_of(written)
    is_field = meant is not None and tuple(meant.split(".")) not in draft.own_parts
    if not is_field and isinstance(value, Mapping) and value and not set(value) & set(Distribution.model_fields):
        for name, inner in value.items():
            yield from _fields(draft, axis, (*path, str(name)), inner)
        return
    field = meant or written
    if meant is None:
        yield None, value
    elif axis == "random":
        yield field, _read(draft, field, value) or _shape_of(draft, field)
    else:
        yield field, _spell(draft, field, read_values(value, is_whole=draft.is_whole(field)) or [BLANK])

"""Advice on unknown fields of a spec: the field that may be meant, and the line to write."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from normcore.spec.cells import CELLS
from normcore.spec.messages import choose, line, nearest, same_name, suggestion
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS

USUAL_TASK = "permuted_digits"
TAGS = ("method", "name", "cell")
CALLED_TAG = ("name", "type", "kind", "method")  # what people write for a part's tag
USUAL_METHOD = "layer_norm"
OWN_WORDS = ("name", "title", "description", "note", "notes", "comment", "project", "author", "user", "experiment")
EPOCHS = ("epochs", "num_epochs", "n_epochs", "max_epochs")
OTHER_COMMANDS = {
    **dict.fromkeys(("grid", "random", "samples"), "it belongs to a sweep; submit the file with `normbench sweep`"),
    **dict.fromkeys(("values", "provenance"), "it belongs to a claim; submit the file with `normbench claim`"),
}
CHOICES: Mapping[str, tuple[str, Collection[str]]] = {
    "norm": ("method", METHODS),
    "model": ("cell", CELLS),
    "optimizer": ("name", OPTIMIZERS),
}
"""Parts that people write as a single name: the tag of the part, and the known names."""
OF_A_SWEEP = ("spec",)  # path of the spec in a sweep

Path = tuple[str | int, ...]
Parts = Mapping[Path, type[BaseModel]]


def unknown_field(loc: Path, value: Any, parts: Parts, tasks: Collection[str]) -> str:
    """Write advice on a field that its part of the spec, or of the sweep, does not have.

    Args:
        loc: path of the unknown field.
        value: value of the unknown field.
        parts: the class of each part, by path. The parts of a sweep have its spec at the path ``OF_A_SWEEP``.
        tasks: names of all tasks.
    """
    part = parts.get(loc[:-1])
    if part is None:
        return "unknown field; remove it"
    known = part.model_fields
    return f"unknown field; {_meant(loc, value, parts, tasks) or 'remove it, or choose from ' + ', '.join(known)}"


def _meant(loc: Path, value: Any, parts: Parts, tasks: Collection[str]) -> str:
    name, known, is_top = str(loc[-1]), parts[loc[:-1]].model_fields, len(loc) == 1
    spec: Path = OF_A_SWEEP if OF_A_SWEEP in parts else ()
    if "." in name and is_top and spec:
        values = value if isinstance(value, list) else [value]
        return f"it belongs in grid, with a list of values; write {line(('grid', name), values)}"
    if "." in name and is_top:
        return f"only a sweep's grid has dotted names; write {line(name.split('.'), value)}"
    if ":" in name:
        return without_space(loc[:-1], name)
    if name in EPOCHS:
        example = line((*spec, "training", "max_steps"), 1000)
        return f"a training lasts for max_steps updates of batch_size examples each; write {example}"
    if is_top and name in OTHER_COMMANDS:
        return OTHER_COMMANDS[name]
    if is_top and name in OWN_WORDS and not (isinstance(value, str) and value in tasks):
        return f"put words of your own into labels; write {line((*spec, 'labels', name), str(value))}"
    if name == "seed" and ("seeds" in known or (is_top and spec)):
        return f"did you mean 'seeds'? write {line((*spec, 'seeds'), [value])}"
    own = same_name(name, known) or next((tag for tag in TAGS if tag in known and name in CALLED_TAG), None)
    if own is not None:
        return f"did you mean '{own}'? {_as_field((*loc[:-1], own), value, parts)}"
    other = elsewhere(name, loc[:-1], parts)
    if other is not None:
        return f"it belongs in {'.'.join(map(str, other[:-1]))}; {_as_field(other, value, parts)}"
    tag, _ = CHOICES.get(str(loc[-2]), ("", ())) if len(loc) > 1 else ("", ())
    of_another = _of_another_choice(loc, value, known[tag].default) if tag in known else None
    return of_another or suggestion(name, known).strip()


def _as_field(path: Path, value: Any, parts: Parts) -> str:
    """Write the line of a field, with its value as the field takes it: a single name as an object, a name as it is
    spelt, a number without quotes, and the names of fields in small letters. If the value is no known name, list the
    known names."""
    if path[-1] in CHOICES and isinstance(value, str):
        path = (*path, CHOICES[str(path[-1])][0])
    known = _choices(path)
    if known and isinstance(value, str) and not nearest(value, known):
        return f"write {'.'.join(map(str, path))}, and {choose(value, known)}"
    return f"write {line(path, as_it_is_spelt(path, _number(path, value, parts)))}"


def as_it_is_spelt(path: Sequence[str | int], value: Any) -> Any:
    """Write a value as the field of this path spells it: the name of a method, a cell or an optimizer, and the names of
    fields in small letters."""
    known = _choices(path)
    if known and isinstance(value, str):
        return next(iter(nearest(value, known)), value)
    return value if path[-1] == "labels" else _in_small_letters(value)


def _choices(path: Sequence[str | int]) -> Collection[str]:
    """Return the names that the field of this path can have, if it is the tag of a part; else an empty list."""
    tag, known = CHOICES.get(str(path[-2]), ("", ())) if len(path) > 1 else ("", ())
    return known if path[-1] == tag else ()


def _number(path: Path, value: Any, parts: Parts) -> Any:
    """Read a number that stands in quotes, if the field takes a number; return any other value unchanged."""
    part = parts.get(path[:-1])
    field = part.model_fields.get(str(path[-1])) if part else None
    kinds = {field.annotation, *get_args(field.annotation)} & {int, float} if field else set()
    if not kinds or not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if int in kinds and number.is_integer() else number


def _of_another_choice(loc: Path, value: Any, chosen: str) -> str | None:
    """Write advice on a field that other choices of its part have, or that is the name of a choice: ``eps`` without a
    method, or ``layer_norm: {eps: 1e-3}``. None if it is neither.

    Args:
        chosen: the choice that the spec has.
    """
    tag, known = CHOICES[str(loc[-2])]
    named = same_name(str(loc[-1]), known)
    if named is not None:
        return f"write {line(loc[:-1], {tag: named, **(value if isinstance(value, Mapping) else {})})}"
    kinds = known.items() if isinstance(known, Mapping) else ()
    fields = {other: same_name(str(loc[-1]), kind.model_fields) for other, kind in kinds}
    having = [other for other, field in fields.items() if field is not None]
    if not having:
        return None
    usual = USUAL_METHOD if USUAL_METHOD in having else having[0]
    example = line(loc[:-1], {tag: usual, str(fields[usual]): value})
    return f"{chosen}, the {tag} here, does not have it; {', '.join(having)} have it: write {example}, or remove it"


def _in_small_letters(value: Any) -> Any:
    """Write the names of an object's fields in small letters, also in objects inside it."""
    if not isinstance(value, Mapping):
        return value
    return {name.lower() if isinstance(name, str) else name: _in_small_letters(part) for name, part in value.items()}


def without_space(part: Path, key: str) -> str:
    """Write advice on a key that holds its value, too, because there is no space after the colon: ``name:char_lm``."""
    name, _, value = key.partition(":")
    try:
        read = json.loads(value)
    except ValueError:
        read = value.strip()
    return f"put a space after the colon; write {line((*part, name.strip()), read)}"


def elsewhere(name: str, here: Path, parts: Parts) -> Path | None:
    """Find the path of a field of this name in another part of the spec; None if there is no such field."""
    for path, part in parts.items():
        found = same_name(name, part.model_fields) if path and path != here else None
        if found is not None:
            return (*path, found)
    return None


def where_the_task_is(written: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """Write advice for a spec without ``task``: name the field that was written instead, or show an example."""
    name = written.get("name")
    if isinstance(name, str):
        return f"put name into task; write {_task(name, tasks)}"
    if isinstance(written.get("spec"), Mapping) and ("grid" in written or "random" in written):
        return "this is a sweep; submit the file with `normbench sweep`"
    for key, value in written.items():
        if isinstance(value, Mapping) and "task" in value:
            return f"move the content of '{key}' to the top level"
        if isinstance(key, str) and key.startswith("task:"):
            return f"put a space after the colon, as {line(('task', 'name'), USUAL_TASK)}"
        if isinstance(key, str) and key.startswith("name:"):
            return f"put name into task, and a space after the colon; write {_task(key.partition(':')[2], tasks)}"
        if key == "task.name":
            return f"a spec has no dotted names; write {_task(value, tasks)}"
        if nearest(key, ("task",)) and isinstance(value, Mapping):
            return f"did you mean 'task' by '{key}'? write {line(('task',), _in_small_letters(value))}"
        if nearest(key, ("task",)):
            several = " (one task for each experiment)" if isinstance(value, list) else ""
            return f"did you mean 'task' by '{key}'? write {_task(value, tasks)}{several}"
    return f"add {line(('task', 'name'), USUAL_TASK)}"


def where_its_name_is(task: Any, tasks: Iterable[str]) -> str | None:
    """Write advice for a ``task`` without ``name`` in which the name is written in another way; None if it is not."""
    if isinstance(task, str) and task.startswith("name:"):
        return f"put a space after the colon; write {_task(task.partition(':')[2], tasks)}"
    for key, value in task.items() if isinstance(task, Mapping) else ():
        if isinstance(key, str) and key.startswith("name:"):
            return f"put a space after the colon; write {_task(key.partition(':')[2], tasks)}"
        if isinstance(key, str) and (same_name(key, ("name",)) or key.lower() in ("type", "kind", "task")):
            return f"did you mean 'name' by '{key}'? write {_task(value, tasks)}"
    return None


def _task(name: Any, tasks: Iterable[str]) -> str:
    """Write the line that names a task: the task that ``name`` may mean, else an example."""
    known = list(tasks)
    name = name[0] if isinstance(name, list) and name else name
    meant = name.strip() if isinstance(name, str) else name
    return line(("task", "name"), meant if meant in known else next(iter(nearest(meant, known)), USUAL_TASK))

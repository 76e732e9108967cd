"""Advice on unknown fields of a spec: the field that may be meant, and the line to write."""

import json
from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from normcore.spec.cells import CELLS
from normcore.spec.messages import line, nearest, same_name, suggestion
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS

USUAL_TASK = "permuted_digits"
TAGS = ("method", "name", "cell")
CALLED_TAG = ("name", "type", "kind", "method")  # what people write for a part's tag
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


def unknown_field(loc: Path, value: Any, parts: Parts, tasks: Container[str]) -> str:
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


def _meant(loc: Path, value: Any, parts: Parts, tasks: Container[str]) -> str:
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
        return f"did you mean '{own}'? write {line((*loc[:-1], own), _as_field(own, value))}"
    other = elsewhere(name, loc[:-1], parts)
    if other is not None:
        return f"it belongs in {'.'.join(map(str, other[:-1]))}; write {line(other, _as_field(str(other[-1]), value))}"
    return suggestion(name, known).strip()


def _as_field(name: str, value: Any) -> Any:
    """Write a value as the field of this name takes it: a single name as an object, and the names of fields in small
    letters."""
    if name in CHOICES and isinstance(value, str):
        tag, known = CHOICES[name]
        return {tag: next(iter(nearest(value, known)), value)}
    return value if name == "labels" else _in_small_letters(value)


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
        if nearest(key, ("task",)):
            return f"did you mean 'task' by '{key}'? write {line(('task',), _in_small_letters(value))}"
    return f"add {line(('task', 'name'), USUAL_TASK)}"


def where_its_name_is(task: Any, tasks: Iterable[str]) -> str | None:
    """Write advice for a ``task`` without ``name`` in which the name is written in another way; None if it is not."""
    if isinstance(task, str) and task.startswith("name:"):
        return f"put a space after the colon; write {_task(task.partition(':')[2], tasks)}"
    for key, value in task.items() if isinstance(task, Mapping) else ():
        if isinstance(key, str) and key.startswith("name:"):
            return f"put a space after the colon; write {_task(key.partition(':')[2], tasks)}"
        if isinstance(key, str) and same_name(key, ("name",)):
            return f"did you mean 'name' by '{key}'? write {_task(value, tasks)}"
    return None


def _task(name: Any, tasks: Iterable[str]) -> str:
    """Write the line that names a task: the task that ``name`` may mean, else an example."""
    known = list(tasks)
    meant = name.strip() if isinstance(name, str) else name
    return line(("task", "name"), meant if meant in known else next(iter(nearest(meant, known)), USUAL_TASK))

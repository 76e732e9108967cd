"""Advice on unknown fields of a spec: the field that may be meant, and the line to write."""

from collections.abc import Container, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from normcore.spec.messages import line, nearest, same_name, suggestion

USUAL_TASK = "permuted_digits"
TAGS = ("method", "name", "cell")
CALLED_TAG = ("name", "type", "kind", "method")  # what people write for a part's tag
OWN_WORDS = ("name", "title", "description", "note", "notes", "comment", "project", "author", "user", "experiment")
EPOCHS = ("epochs", "num_epochs", "n_epochs", "max_epochs")
OTHER_COMMANDS = {
    **dict.fromkeys(("grid", "random", "samples"), "it belongs to a sweep; submit the file with `normbench sweep`"),
    **dict.fromkeys(("values", "provenance"), "it belongs to a claim; submit the file with `normbench claim`"),
}

Path = tuple[str | int, ...]
Parts = Mapping[Path, type[BaseModel]]


def unknown_field(loc: Path, value: Any, parts: Parts, tasks: Container[str]) -> str:
    """Write advice on a field that its part of the spec does not have.

    Args:
        loc: path of the unknown field.
        value: value of the unknown field.
        parts: the class of each part of the spec, by path.
        tasks: names of all tasks.
    """
    part = parts.get(loc[:-1])
    if part is None:
        return "unknown field; remove it"
    known = part.model_fields
    return f"unknown field; {_meant(loc, value, parts, tasks) or 'remove it, or choose from ' + ', '.join(known)}"


def _meant(loc: Path, value: Any, parts: Parts, tasks: Container[str]) -> str:
    name, known, is_top = str(loc[-1]), parts[loc[:-1]].model_fields, len(loc) == 1
    if "." in name and is_top:
        return f"only a sweep's grid has dotted names; write {line(name.split('.'), value)}"
    if ":" in name:
        return "put a space after the colon"
    if name in EPOCHS:
        example = line(("training", "max_steps"), 1000)
        return f"a training lasts for max_steps updates of batch_size examples each; write {example}"
    if is_top and name in OTHER_COMMANDS:
        return OTHER_COMMANDS[name]
    if is_top and name in OWN_WORDS and not (isinstance(value, str) and value in tasks):
        return f"put words of your own into labels; write {line(('labels', name), str(value))}"
    if name == "seed" and "seeds" in known:
        return f"did you mean 'seeds'? write {line(('seeds',), [value])}"
    own = same_name(name, known) or next((tag for tag in TAGS if tag in known and name in CALLED_TAG), None)
    if own is not None:
        return f"did you mean '{own}'? write {line((*loc[:-1], own), value)}"
    elsewhere = _elsewhere(name, loc[:-1], parts)
    if elsewhere is not None:
        return f"it belongs in {'.'.join(map(str, elsewhere[:-1]))}; write {line(elsewhere, value)}"
    return suggestion(name, known).strip()


def _elsewhere(name: str, here: Path, parts: Parts) -> Path | None:
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
        return f"put name into task; write {line(('task', 'name'), next(iter(nearest(name, tasks)), USUAL_TASK))}"
    if isinstance(written.get("spec"), Mapping) and ("grid" in written or "random" in written):
        return "this is a sweep; submit the file with `normbench sweep`"
    for key, value in written.items():
        if isinstance(value, Mapping) and "task" in value:
            return f"move the content of '{key}' to the top level"
        if isinstance(key, str) and key.startswith("task:"):
            return f"put a space after the colon, as {line(('task', 'name'), USUAL_TASK)}"
        if nearest(key, ("task",)):
            return f"did you mean 'task' by '{key}'? write {line(('task',), value)}"
    return f"add {line(('task', 'name'), USUAL_TASK)}"

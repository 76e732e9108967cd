"""Fields that a spec does not have where they stand: what is meant, and the line to write."""

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
    **dict.fromkeys(("grid", "random", "samples"), "it is of a sweep; submit the file with `normbench sweep`"),
    **dict.fromkeys(("values", "provenance"), "it is of a claim; submit the file with `normbench claim`"),
}

Path = tuple[str | int, ...]
Parts = Mapping[Path, type[BaseModel]]


def unknown_field(loc: Path, value: Any, parts: Parts, tasks: Container[str]) -> str:
    """Advice on a field that its part does not have.

    Args:
        loc: where it stands.
        parts: the class of each part of the spec, by path.
        tasks: names of tasks.
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
        return f"words of your own are labels; write {line(('labels', name), str(value))}"
    if name == "seed" and "seeds" in known:
        return f"did you mean 'seeds'? write {line(('seeds',), [value])}"
    own = same_name(name, known) or next((tag for tag in TAGS if tag in known and name in CALLED_TAG), None)
    if own is not None:
        return f"did you mean '{own}'? write {line((*loc[:-1], own), value)}"
    elsewhere = _elsewhere(name, loc[:-1], parts)
    if elsewhere is not None:
        return f"it stands in {'.'.join(map(str, elsewhere[:-1]))}; write {line(elsewhere, value)}"
    return suggestion(name, known).strip()


def _elsewhere(name: str, here: Path, parts: Parts) -> Path | None:
    """The path of a field of this name in another part of the spec."""
    for path, part in parts.items():
        found = same_name(name, part.model_fields) if path and path != here else None
        if found is not None:
            return (*path, found)
    return None


def where_the_task_is(written: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """Name the field that stands in place of ``task``, or else show an example of ``task``."""
    name = written.get("name")
    if isinstance(name, str):
        return f"name stands in it; write {line(('task', 'name'), next(iter(nearest(name, tasks)), USUAL_TASK))}"
    if isinstance(written.get("spec"), Mapping) and ("grid" in written or "random" in written):
        return "this is a sweep; submit the file with `normbench sweep`"
    for key, value in written.items():
        if isinstance(value, Mapping) and "task" in value:
            return f"what stands in '{key}' belongs at the top"
        if isinstance(key, str) and key.startswith("task:"):
            return f"put a space after the colon, as {line(('task', 'name'), USUAL_TASK)}"
        if nearest(key, ("task",)):
            return f"did you mean 'task' by '{key}'? write {line(('task',), value)}"
    return f"add {line(('task', 'name'), USUAL_TASK)}"

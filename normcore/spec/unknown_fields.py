"""Advice on unknown fields of a spec: the field that may be meant, and the line to write."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from normcore.spec.blanks import BLANK
from normcore.spec.messages import (
    LONGEST_NAME,
    MAX_SEEDS,
    Advice,
    after,
    explain_unknown,
    line,
    line_of_object,
    line_of_seeds,
    nearest,
    quote_value,
    same_name,
    suggestion,
)
from normcore.spec.spelling import (
    CALLED_TAG,
    CHOICES,
    MOST_ITEMS,
    Path,
    as_it_is_spelt,
    as_object,
    choices_with,
    in_small_letters,
)
from normcore.spec.wrong_values import OBJECTS, OF_A_SWEEP, PartClasses, refusal, takes

USUAL_TASK = "permuted_digits"
TAGS = ("method", "name", "cell")
USUAL_METHOD = "layer_norm"
OWN_WORDS = ("name", "title", "description", "note", "notes", "comment", "project", "author", "user", "experiment")
COUNTS_OF_SEEDS = ("n_seeds", "num_seeds", "number_of_seeds", "seed_count", "n_seed", "num_seed", "seeds_count")
EPOCHS = ("epochs", "num_epochs", "n_epochs", "max_epochs")
OTHER_COMMANDS = {
    **dict.fromkeys(("grid", "random", "samples"), "it belongs to a sweep; submit the file with `normbench sweep`"),
    **dict.fromkeys(("values", "provenance"), "it belongs to a claim; submit the file with `normbench claim`"),
}


def unknown_field(loc: Path, value: Any, parts: PartClasses, tasks: Collection[str]) -> str:
    """Write advice on a field that its part of the spec, or of the sweep, does not have.

    Args:
        loc: path of the unknown field.
        value: value of the unknown field.
        parts: the class of each part, by path. The parts of a sweep have its spec at the path ``OF_A_SWEEP``.
        tasks: names of all tasks.
    """
    part = parts.get(loc[:-1])
    if part is None or len(str(loc[-1])) > LONGEST_NAME:  # advice could nest a long name into too many levels
        return "unknown field; remove it"
    known = part.model_fields
    return after(
        "unknown field; ", _advise_by_name(loc, value, parts, tasks) or f"remove it, or choose from {', '.join(known)}"
    )


def _advise_by_name(loc: Path, value: Any, parts: PartClasses, tasks: Collection[str]) -> str:
    name, known, is_top = str(loc[-1]), parts[loc[:-1]].model_fields, len(loc) == 1
    spec: Path = OF_A_SWEEP if OF_A_SWEEP in parts else ()
    if "." in name and is_top and spec:
        return f"it belongs in grid, with a list of values{_line_of_grid(name, value, parts)}"
    if "." in name and is_top:
        return Advice("only a sweep's grid has dotted names", name.split("."), value)
    if ":" in name:
        return without_space(loc[:-1], name)
    if same_name(name, EPOCHS):
        counted = "training.max_steps counts updates of batch_size examples each"
        return Advice(counted, (*spec, "training", "max_steps"), BLANK)
    if is_top and name in OTHER_COMMANDS:
        return OTHER_COMMANDS[name]
    if (
        is_top
        and name in OWN_WORDS
        and not isinstance(value, Mapping)
        and not (isinstance(value, str) and value in tasks)
    ):
        words = json.dumps(value) if isinstance(value, int | float) else value if isinstance(value, str) else BLANK
        return Advice("put words of your own into labels", (*spec, "labels", name), words)
    if name == "seed" and ("seeds" in known or (is_top and spec)):
        return after("did you mean 'seeds'? ", _line_of_seed((*spec, "seeds"), value))
    if same_name(name, COUNTS_OF_SEEDS) and ("seeds" in known or (is_top and spec)):
        seeds = range(min(value, MAX_SEEDS + 1)) if type(value) is int else ()
        return after("did you mean 'seeds'? ", line_of_seeds((*spec, "seeds"), seeds))
    own = same_name(name, known) or next((tag for tag in TAGS if tag in known and name in CALLED_TAG), None)
    if own is not None:
        return after(f"did you mean '{own}'? ", _as_field((*loc[:-1], own), value, parts))
    other = elsewhere(name, loc[:-1], parts)
    if other is not None:
        place = f"in {'.'.join(map(str, other[:-1]))}" if other[:-1] else "at the top level"
        return after(f"it belongs {place}; ", _as_field(other, value, parts))
    of_another = next(_of_another_choice(loc, value, parts), None)
    return of_another or suggestion(name, known).strip()


def _line_of_grid(name: str, value: Any, parts: PartClasses) -> str:
    """Write the line of the grid for a dotted name at the top level of a sweep. A value that the field does not take is
    a blank. The text is empty if the spec does not have the field."""
    path = (*OF_A_SWEEP, *name.split("."))
    part = parts.get(path[:-1])
    if part is None or path[-1] not in part.model_fields:
        return ""
    spelt = as_it_is_spelt(path, value[:MOST_ITEMS] if isinstance(value, list) else [value])
    return f"; write {line(('grid', name), [one if takes(path, one, parts) else BLANK for one in spelt])}"


def _line_of_seed(path: Path, value: Any) -> str:
    """Write the line of ``seeds`` for the value of ``seed``: one seed, or a list of seeds."""
    if isinstance(value, list) and all(type(seed) is int for seed in value):
        return line_of_seeds(path, value)
    return Advice("", path, value if isinstance(value, list) else [value], "write")


def _as_field(path: Path, value: Any, parts: PartClasses) -> str:
    """Write the line of a field with its value as the field spells it, or say why the field does not take the value. A
    single name stands for the part with this tag."""
    if path[-1] in CHOICES and isinstance(value, str | list):
        path = (*path, CHOICES[str(path[-1])][0])
    if path in parts and not isinstance(value, Mapping):
        value = OBJECTS.get(path, value)
    spelt = as_it_is_spelt(path, value)
    return refusal(path, spelt, parts) or Advice("", path, spelt, "write")


def _of_another_choice(loc: Path, value: Any, parts: PartClasses) -> Iterator[str]:
    """Yield advice on a field that other choices of a part have, or that is the name of a choice: ``eps`` without a
    method, or ``layer_norm: {eps: 1e-3}``. The field stands in the part, or at the top level."""
    for path, part in parts.items():
        tag, known = CHOICES.get(str(path[-1]), ("", ())) if path else ("", ())
        if tag not in part.model_fields or (len(loc) > 1 and path != loc[:-1]):
            continue
        named = same_name(str(loc[-1]), known)
        if named is not None:
            yield Advice("", path, as_object(path, [{named: value}]), "write")
        having = choices_with(str(path[-1]), str(loc[-1]))
        if having:
            usual = USUAL_METHOD if USUAL_METHOD in having else next(iter(having))
            chosen = f"{part.model_fields[tag].default}, the {tag} here, does not have it"
            fields = {tag: usual, having[usual]: value}
            yield Advice(f"{chosen}; {', '.join(having)} have it", path, fields, ": write", ", or remove it")


def without_space(part: Path, key: str) -> str:
    """Write advice on a key that holds its value, too, because there is no space after the colon: ``name:char_lm``."""
    name, _, value = key.partition(":")
    try:
        read = json.loads(value)
    except ValueError:
        read = value.strip()
    return Advice("put a space after the colon", (*part, name.strip()), read)


def elsewhere(name: str, here: Path, parts: PartClasses) -> Path | None:
    """Find the path of a field of this name in another part of the spec; None if there is no such field."""
    for path, part in parts.items():
        found = same_name(name, part.model_fields) if path != here else None
        if found is not None:
            return (*path, found)
    return None


def where_the_task_is(written: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """Write advice for a spec without ``task``: name the field that was written instead, or show an example."""
    name = written.get("name")
    if isinstance(name, str):
        return _name_task("put name into task", name, tasks)
    if isinstance(written.get("spec"), Mapping) and ("grid" in written or "random" in written):
        return "this is a sweep; submit the file with `normbench sweep`"
    for key, value in islice(written.items(), MOST_ITEMS):
        if isinstance(value, Mapping) and "task" in value:
            return f"move the content of {quote_value(key)} to the top level"
        if isinstance(key, str) and key.startswith("task:"):
            return Advice("put a space after the colon", ("task", "name"), USUAL_TASK, ", as")
        if isinstance(key, str) and key.startswith("name:"):
            return _name_task("put name into task, and a space after the colon", key.partition(":")[2], tasks)
        if key == "task.name":
            return _name_task("a spec has no dotted names", value, tasks)
        if nearest(key, ("task",)) and isinstance(value, Mapping):
            return Advice(f"did you mean 'task' by '{key}'?", ("task",), in_small_letters(value), " write")
        if nearest(key, ("task",)):
            return _name_task(f"did you mean 'task' by '{key}'?", value, tasks, " write", _of_several(value))
    return _with_name_as_key(written, tasks) or Advice("add it", ("task", "name"), USUAL_TASK, ", as")


def where_its_name_is(task: Any, tasks: Iterable[str]) -> str | None:
    """Write advice for a ``task`` without ``name`` in which the name is written in another way; None if it is not."""
    if isinstance(task, str) and task.startswith("name:"):
        return _name_task("put a space after the colon", task.partition(":")[2], tasks)
    for key, value in islice(task.items(), MOST_ITEMS) if isinstance(task, Mapping) else ():
        if isinstance(key, str) and key.startswith("name:"):
            return _name_task("put a space after the colon", key.partition(":")[2], tasks)
        if (
            isinstance(key, str)
            and key != "name"
            and (same_name(key, ("name",)) or key.lower() in ("type", "kind", "task"))
        ):
            return _name_task(f"did you mean 'name' by '{key}'?", value, tasks, " write")
    return _with_name_as_key(task, tasks) if isinstance(task, Mapping) else None


def no_object(task: Any, tasks: Iterable[str]) -> str:
    """Write the message for a ``task`` that is a name or a list, or another value that is no object."""
    first = task[0] if isinstance(task, list) and task else task
    meant = next(iter(nearest(first, tasks)), None)
    fields = as_object(("task",), task) if isinstance(task, list) else None
    unknown = isinstance(task, str) and meant is None
    told = f"unknown {quote_value(task)}; {explain_unknown(task, tasks)}; " if unknown else ""
    if fields and "name" in fields:
        return f"expected an object, as {line_of_object(fields)}"
    return f"{told}expected an object, as {json.dumps({'name': meant or USUAL_TASK})}{_of_several(task)}"


def _of_several(tasks: Any) -> str:
    return " (one task for each experiment)" if isinstance(tasks, list) else ""


def _with_name_as_key(fields: Mapping[Any, Any], tasks: Iterable[str]) -> Advice | None:
    """Advise the task whose name is a key: ``permuted_digits: {profile: smoke}``; None if no key is a task's name."""
    for key, value in islice(fields.items(), MOST_ITEMS):
        name = same_name(key, tasks) if isinstance(key, str) else None
        if name is not None:
            return Advice("", ("task",), {"name": name, **(value if isinstance(value, Mapping) else {})}, "write")
    return None


def _name_task(words: str, name: Any, tasks: Iterable[str], how: str = "; write", rest: str = "") -> Advice:
    """Advise the line that names a task: the task that ``name`` means, else a blank."""
    name = name[0] if isinstance(name, list) and name else name
    meant = nearest(name.strip(), tasks) if isinstance(name, str) else []
    return Advice(words, ("task", "name"), meant[0] if len(meant) == 1 else BLANK, how, rest)

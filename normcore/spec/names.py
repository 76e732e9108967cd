"""Names of entries: the method, and every option in which the entry's spec differs from the task's profile.

Different specs of one problem have different names. So a name identifies an entry on every page, in every figure and in
every file.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from normcore.spec.experiment import CANONICAL_JSON, HASHED, TrainingSpec, parse
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.resolve import changes
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.training import Training

DECIDING = ("spec_version", "kind", *HASHED)  # parts of a stored spec
DIGEST = 64  # characters of a SHA-256
SHORT = 12  # characters of a digest that are shown
DIGITS = (4, 6, 9, None)  # digits of a number, tried until the cells of a sweep have different names; None: all digits
TAG = ".name"  # end of the path of a choice, as in training.optimizer.name


def name(method: str, changed: Mapping[str, Any]) -> str:
    """Name an entry of a board: ``layer_norm (lr 0.01)``.

    Args:
        changed: the fields in which the spec differs from the profile, by dotted path.
    """
    told = differences({path: value for path, value in changed.items() if not is_of_the_problem(path)})
    return f"{method} ({told})" if told else method


def names_apart(names: Sequence[str]) -> list[str]:
    """Names of entries in a text: ``(lr 0.01)`` is left out if all names end with it."""
    cut = [name.partition(" (") for name in names]
    alike = len({(separator, told) for _, separator, told in cut}) == 1
    methods = [method for method, _, _ in cut]
    return methods if alike and len(set(methods)) == len(names) else list(names)


def is_of_the_problem(path: str) -> bool:
    """Tell if an option is part of the problem. The title of a board shows such options."""
    return path.startswith("task.") and path not in _only_shown()


@cache
def _only_shown() -> frozenset[str]:
    """Find the tasks' options that change pictures and no number. Two entries of one problem may differ in them."""
    return frozenset(f"task.{name}" for task in BENCHMARKS.values() for name in task.shown_only)


def name_of_spec(spec: Mapping[str, Any]) -> str | None:
    """Name a stored spec, with the options of its problem: ``none (corpus ptb)``; None if the spec has no method."""
    norm = spec.get("norm")  # a spec of an older version may have no norm
    method: str | None = norm and norm.get("method")
    told = differences(changes_of(spec))
    return f"{method} ({told})" if method and told else method


def changes_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Find the fields in which a stored spec differs from its profile. The result is empty if the spec cannot be read,
    for example without its plug-in."""
    return dict(_changes(CANONICAL_JSON.encode({part: spec[part] for part in DECIDING if part in spec})))


@lru_cache(maxsize=4096)
def _changes(stored: str) -> Mapping[str, Any]:
    """Find the fields in which a stored spec, given as JSON, differs from its profile. The result is cached, because
    lists show the same specs again and again."""
    try:
        parsed = parse(json.loads(stored))
    except (ValidationError, ValueError):
        return {}
    return changes(parsed) if isinstance(parsed, TrainingSpec) else {}


def differences(changed: Mapping[str, Any]) -> str:
    """Write the changes of a spec on one line: ``gain_init 1.0, lr 0.01``."""
    in_order = sorted(changed, key=lambda path: path.removesuffix(TAG))
    return ", ".join(f"{option(path)} {text(changed[path])}" for path in in_order)


def write_shared_changes(changed: Sequence[Mapping[str, Any]], varied: Collection[str]) -> str:
    """Write the changes that several specs share on one line, without the options in ``varied``."""
    first, *others = changed or [{}]
    alike = {path: value for path, value in first.items() if all(path in one and one[path] == value for one in others)}
    return differences({path: value for path, value in alike.items() if path not in varied})


def cell_names(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the cells of a sweep by their values: ``method layer_norm, lr 0.001``.

    Numbers have as few digits as give all cells different names, because random draws have up to 17 digits.
    """
    attempts = ([_cell_name(values, digits) for values in cells] for digits in DIGITS)
    return next((named for named in attempts if len(set(named)) == len(named)), [])


def _cell_name(values: Mapping[str, Any], digits: int | None) -> str:
    return ", ".join(f"{option(path)} {text(value, digits)}" for path, value in values.items())


def option(path: str) -> str:
    """Shorten the path of an option to the shortest name that no other option has: ``lr``, ``norm.eps``,
    ``optimizer``."""
    part, _, last = path.rpartition(".")
    if path.endswith(TAG):
        return option(part)
    return f"{part.rpartition('.')[2]}.{last}" if last in _find_shared_names() and part else last


@cache
def _find_shared_names() -> frozenset[str]:
    """Find the names that options in several parts of a spec share, options of plug-ins included."""
    parts: Mapping[str, frozenset[str]] = {
        "task": _fields(BENCHMARKS.values()),
        "model": _fields(kind for family in MODELS.values() for kind in family.kinds().values()),
        "norm": _fields(METHODS.values()),
        "training": _fields([Training]),
        "optimizer": _fields(OPTIMIZERS.values()),
        "schedule": _fields(_options_in(Training, "schedule")),
    }
    every = [last for fields in parts.values() for last in fields]
    return frozenset(last for last in every if every.count(last) > 1)


def _fields(kinds: Any) -> frozenset[str]:
    return frozenset(last for kind in kinds for last in kind.model_fields)


def _options_in(part: type[BaseModel], field: str) -> Iterator[type[BaseModel]]:
    """Yield the classes of options that the value of a field may have."""
    annotation = part.model_fields[field].annotation
    return (kind for kind in get_args(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel))


def text(value: Any, digits: int | None = None) -> str:
    """Write the value of an option. Numbers have all digits, because two draws of a sweep may differ in the last digit.

    Args:
        digits: significant digits of a number; None for all.
    """
    if isinstance(value, str):
        return f"{value[:SHORT]}…" if _is_digest(value) else value
    if isinstance(value, list | tuple):
        return f"[{', '.join(text(one, digits) for one in value)}]"
    if isinstance(value, float) and digits is not None:
        return f"{value:.{digits}g}"
    return "none" if value is None else json.dumps(value)


def _is_digest(text: str) -> bool:
    return len(text) == DIGEST and all(character in "0123456789abcdef" for character in text)

"""Names of what was measured: the method, and every option in which its spec differs from the task's profile.

Two specs of one problem that differ have different names, so a name tells an entry apart on every page, in every figure
and in every file.
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
SHORT = 12  # characters that are shown of it
DIGITS = (4, 6, 9, None)  # the first that keeps the cells of a sweep apart is taken; None: all
TAG = ".name"  # with which the path of a choice ends, as that of the optimizer


def name(method: str, changed: Mapping[str, Any]) -> str:
    """Name an entry of a board: ``layer_norm (lr 0.01)``.

    Args:
        changed: the fields in which the spec differs from the profile, by dotted path.
    """
    told = differences({path: value for path, value in changed.items() if not is_of_the_problem(path)})
    return f"{method} ({told})" if told else method


def is_of_the_problem(path: str) -> bool:
    """Tell if an option is part of the problem. The title of a board shows such options."""
    return path.startswith("task.")


def name_of_spec(spec: Mapping[str, Any]) -> str | None:
    """Name a stored spec among those of all problems: ``none (corpus ptb)``; None without a method."""
    norm = spec.get("norm")  # a spec of an older version may have none
    method: str | None = norm and norm.get("method")
    told = differences(changes_of(spec))
    return f"{method} ({told})" if method and told else method


def changes_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in which a stored spec differs from its profile; none if it cannot be read, as without its plug-in."""
    return dict(_changes(CANONICAL_JSON.encode({part: spec[part] for part in DECIDING if part in spec})))


@lru_cache(maxsize=4096)
def _changes(stored: str) -> Mapping[str, Any]:
    """The fields that differ, of the JSON of a spec: lists show the same specs again and again."""
    try:
        parsed = parse(json.loads(stored))
    except (ValidationError, ValueError):
        return {}
    return changes(parsed) if isinstance(parsed, TrainingSpec) else {}


def differences(changed: Mapping[str, Any]) -> str:
    """Changes of a spec, in one line: ``gain_init 1.0, lr 0.01``."""
    in_order = sorted(changed, key=lambda path: path.removesuffix(TAG))
    return ", ".join(f"{option(path)} {text(changed[path])}" for path in in_order)


def shared(changed: Sequence[Mapping[str, Any]], varied: Collection[str]) -> str:
    """Changes that several specs share, without the options that vary among them."""
    first, *others = changed or [{}]
    alike = {path: value for path, value in first.items() if all(path in one and one[path] == value for one in others)}
    return differences({path: value for path, value in alike.items() if path not in varied})


def cell_names(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the cells of a sweep by their values: ``method layer_norm, lr 0.001``.

    Numbers have as many digits as keep all cells apart, because draws have up to 17.
    """
    attempts = ([_cell_name(values, digits) for values in cells] for digits in DIGITS)
    return next((named for named in attempts if len(set(named)) == len(named)), [])


def _cell_name(values: Mapping[str, Any], digits: int | None) -> str:
    return ", ".join(f"{option(path)} {text(value, digits)}" for path, value in values.items())


def option(path: str) -> str:
    """The shortest name of an option that no other option has: ``lr``, ``norm.eps``, ``optimizer``."""
    part, _, last = path.rpartition(".")
    if path.endswith(TAG):
        return option(part)
    return f"{part.rpartition('.')[2]}.{last}" if last in _shared() and part else last


@cache
def _shared() -> frozenset[str]:
    """Last names that options of several parts have, those of plug-ins too."""
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
    """The classes of options that a field may have."""
    annotation = part.model_fields[field].annotation
    return (kind for kind in get_args(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel))


def text(value: Any, digits: int | None = None) -> str:
    """A value of an option. Numbers stand in full, because two draws of a search may differ in the last digit.

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

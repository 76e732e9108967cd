"""Spelling of a spec: names of methods, cells and optimizers as they are known, and a part as an object."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from normcore.spec.cells import CELLS
from normcore.spec.messages import nearest, same_name
from normcore.spec.methods import METHODS
from normcore.spec.optimizers import OPTIMIZERS

CALLED_TAG = ("name", "type", "kind", "method")  # what people write for a part's tag
MOST_ITEMS = 100  # items of a list or fields of an object that are read for advice; a name takes 0.1 ms
CHOICES: Mapping[str, tuple[str, Collection[str]]] = {
    "norm": ("method", METHODS),
    "model": ("cell", CELLS),
    "optimizer": ("name", OPTIMIZERS),
}
"""Parts that people write as a single name: the tag of the part, and the known names."""

Path = tuple[str | int, ...]


def choices(path: Sequence[str | int]) -> Collection[str]:
    """Return the names that the field of this path can have, if it is the tag of a part; else an empty list."""
    tag, known = CHOICES.get(str(path[-2]), ("", ())) if len(path) > 1 else ("", ())
    return known if path[-1] == tag else ()


def is_another_tag(path: Sequence[str | int]) -> bool:
    """Tell if the field of this path is another word for the tag of its part, as ``norm.type``."""
    return len(path) > 1 and str(path[-2]) in CHOICES and path[-1] in CALLED_TAG and not choices(path)


def choices_with(part: str, field: str) -> dict[str, str]:
    """Find the choices of a part that have a field, and the name of the field in each choice."""
    _, known = CHOICES.get(part, ("", ()))
    kinds = known.items() if isinstance(known, Mapping) else ()
    found = ((choice, same_name(field, kind.model_fields)) for choice, kind in kinds)
    return {choice: name for choice, name in found if name is not None}


def as_it_is_spelt(path: Sequence[str | int], value: Any) -> Any:
    """Write a value as the field of this path spells it: the name of a method, a cell or an optimizer, also each name
    of a list, and the names of fields in small letters."""
    known = choices(path)
    if known and isinstance(value, list):
        return [as_it_is_spelt(path, item) for item in value]
    if known and isinstance(value, str):
        return next(iter(nearest(value, known)), value)
    return value if path[-1] == "labels" else in_small_letters(value)


def in_small_letters(value: Any) -> Any:
    """Write the names of an object's fields in small letters, also in objects inside it."""
    if not isinstance(value, Mapping):
        return value
    return {name.lower() if isinstance(name, str) else name: in_small_letters(part) for name, part in value.items()}


def as_object(path: Path, items: Sequence[Any]) -> dict[str, Any] | None:
    """Write a list as the object of the part at this path: its one name, or the fields of all of its objects. None if
    the list is empty, or has over ``MOST_ITEMS`` items, or holds a field twice, or other values."""
    written: dict[str, Any] = {}
    for item in items if len(items) <= MOST_ITEMS else ():
        fields = _fields(path, item)
        if fields is None or fields.keys() & written.keys():
            return None
        written |= fields
    return written or None


def _fields(path: Path, item: Any) -> dict[str, Any] | None:
    """Write a name, or an object, as fields of the part at this path; None for other values."""
    tag, known = CHOICES.get(str(path[-1]), ("", ()))
    if isinstance(item, str):
        named = next(iter(nearest(item, known)), None)
        return None if named is None else {tag: named}
    if not isinstance(item, Mapping):
        return None
    fields: dict[str, Any] = {}
    for name, value in in_small_letters(item).items():
        chosen = same_name(str(name), known)
        if chosen is not None:
            fields |= {tag: chosen, **(value if isinstance(value, Mapping) else {})}
        elif name == tag or is_another_tag((*path, name)):
            fields[tag] = as_it_is_spelt((*path, tag), value)
        else:
            fields[name] = value
    return fields

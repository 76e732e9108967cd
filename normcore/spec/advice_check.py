"""Check of advice: the line that a message tells to write is put into the spec. If the spec refuses the line, the
message says what the field takes instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from normcore.spec.errors import SpecError
from normcore.spec.messages import Advice, quote_value
from normcore.spec.shapes import describe_values
from normcore.spec.spelling import Path
from normcore.spec.wrong_values import PartClasses

LABELS = 'labels takes an object of names and texts, such as {"team": "vision"}'
Fields = Mapping[str, Any]


def check_advice(
    error: SpecError,
    written: Fields,
    refused: Callable[[Fields], Sequence[Path]],
    part_classes: Callable[[Fields], PartClasses],
) -> SpecError:
    """Replace the line to write of an error if the line is refused itself. This checks the spec once more.

    Args:
        written: the spec without the fields that are wrong.
        refused: finds the paths of a spec's wrong fields.
        part_classes: finds the class of each part of a spec, by path.
    """
    advice = error.msg
    fields = advised_fields(error)
    if not isinstance(advice, Advice) or fields is None:
        return error
    tried = put_over(written, fields)
    wrong = refused(tried)
    paths = [path for path in _leaves(fields) if any(_overlap(path, other) for other in wrong)]
    if not paths:
        return error
    told = next(filter(None, (_what_it_takes(path, part_classes(tried)) for path in paths)), "")
    words = advice.words.rstrip(" ,;:")
    space = " " if words.endswith("?") else "; "
    return SpecError(error.loc, f"{words}{space}{told}".rstrip("; "), error.type)


def advised_fields(error: SpecError) -> Fields | None:
    """Return the fields that the message tells to write. An item of a list is written as the only one. None if there is
    no line to write, if the line has blanks, or if the fields stand inside an item of a list.
    """
    if not isinstance(error.msg, Advice) or not error.msg.is_whole:
        return None
    path, value = error.msg.path or error.loc, error.msg.value
    if path and isinstance(path[-1], int):
        path, value = path[:-1], [value]
    is_field = path and all(isinstance(step, str) for step in path)
    return nest(path, value) if is_field else None


def nest(path: Path, value: Any) -> dict[str, Any]:
    """Put a value into objects along a path, which is not empty."""
    for name in reversed(path):
        value = {name: value}
    return dict(value)


def put_over(spec: Fields, fields: Fields) -> dict[str, Any]:
    """Put fields into a spec, also into its parts."""
    merged = dict(spec)
    for name, value in fields.items():
        inner = spec.get(name)
        are_parts = isinstance(inner, Mapping) and isinstance(value, Mapping)
        merged[name] = put_over(inner or {}, value) if are_parts else value
    return merged


def without_fields(spec: Fields, paths: Iterable[Path]) -> dict[str, Any]:
    """Copy a spec without the fields of these paths. A list is left out if one of its items is."""
    inside: dict[str, list[Path]] = {}
    for path in paths:
        inside.setdefault(str(path[0]), []).append(path[1:])
    kept = {}
    for name, value in spec.items():
        others = inside.get(str(name), [])
        if others and (not all(others) or not isinstance(value, Mapping)):
            continue
        kept[name] = without_fields(value, others) if others else value
    return kept


def _leaves(fields: Fields, above: Path = ()) -> Iterator[Path]:
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name)


def _overlap(path: Path, other: Path) -> bool:
    """Tell if one path is the other, or leads to it."""
    shorter = min(len(path), len(other))
    return path[:shorter] == other[:shorter]


def _what_it_takes(path: Path, parts: PartClasses) -> str:
    """Say which values a field takes, or that its part has no such field; the text is empty if the part is unknown."""
    part, name = parts.get(path[:-1]), str(path[-1])
    if path[0] == "labels":
        return LABELS
    if part is None:
        return ""
    if name not in part.model_fields:
        return f"{'.'.join(map(str, path[:-1])) or 'a spec'} has no field {quote_value(name)}"
    shape = describe_values(part.model_fields[name].annotation, part.model_fields[name].metadata)
    return f"{name} takes {shape}" if shape else ""

"""Trial of advice: the line that a message tells to write is put into the spec. If the spec refuses the line, the
message says what the field takes instead."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from normcore.spec.errors import SpecError
from normcore.spec.messages import quote_value
from normcore.spec.shapes import describe_values
from normcore.spec.spelling import Path
from normcore.spec.wrong_values import Parts

OFFER = re.compile(r"(?:write|(?<!such )as|put it in quotes:|put the name in quotes:) (?=[\"{\-\d])")
DECODER = json.JSONDecoder()
NOT_TRIED = ("contradiction", "value_error", "assertion_error")  # their messages speak of several fields
LABELS = 'labels takes an object of names and texts, such as {"team": "vision"}'
MAX_OFFERS = 50  # last places of a message where a line may begin that are looked at
GRID = ("grid",)  # a line for the file of a sweep
Fields = Mapping[str, Any]


def leave_out_refused(
    errors: Sequence[SpecError],
    written: Fields,
    refused: Callable[[Fields], Sequence[Path]],
    parts_of: Callable[[Fields], Parts],
) -> list[SpecError]:
    """Replace each line to write that is refused itself, with one trial for each error.

    Args:
        written: the spec without the fields that are wrong.
        refused: finds the paths of a spec's wrong fields.
        parts_of: finds the class of each part of a spec, by path.
    """
    return [_after_trial(error, written, refused, parts_of) for error in errors]


def _after_trial(error: SpecError, written: Fields, refused: Any, parts_of: Any) -> SpecError:
    offer = find_offer(error.msg, error.loc) if error.type not in NOT_TRIED else None
    if offer is None:
        return error
    words, fields = offer
    tried = put_over(written, fields)
    wrong = refused(tried)
    paths = [path for path in _leaves(fields) if any(_overlap(path, other) for other in wrong)]
    if not paths:
        return error
    told = (_what_it_takes(path, parts_of(tried)) for path in paths)
    space = " " if words.endswith("?") else "; "
    return SpecError(error.loc, f"{words}{space}{next(filter(None, told), '')}".rstrip("; "), error.type)


def find_offer(message: str, loc: Path) -> tuple[str, Fields] | None:
    """Find the fields that a message tells to write, and the words before the line; None if there is no line.

    Args:
        loc: path of the field that is wrong. An object, or items of a list, are written for this field.
    """
    for found in reversed(deque(OFFER.finditer(message), maxlen=MAX_OFFERS)):
        fields = _read_offer(message, found.end(), loc)
        if fields is not None and tuple(fields) != GRID:
            return message[: found.start()].rstrip(" ,;:"), fields
    return None


def _read_offer(text: str, begin: int, loc: Path) -> Fields | None:
    """Read the line that begins at an index of a text: a name with its value, an object, or items of a list."""
    try:
        if loc and isinstance(loc[-1], int):
            return _nest(loc[:-1], json.loads(f"[{text[begin:]}]"))
        first, end = DECODER.raw_decode(text, begin)
        if isinstance(first, Mapping):
            return _nest(loc, first)
        if isinstance(first, str) and text[end : end + 2] == ": ":
            return {first: DECODER.raw_decode(text, end + 2)[0]}
    except ValueError:
        pass
    return None


def _nest(path: Path, value: Any) -> dict[str, Any] | None:
    """Put a value into objects along a path; None if the path goes through a list, or is empty."""
    for name in reversed(path):
        if isinstance(name, int):
            return None
        value = {name: value}
    return dict(value) if path else None


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


def _what_it_takes(path: Path, parts: Parts) -> str:
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

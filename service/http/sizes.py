"""Limits on the content of a body: values, levels and letters.

The code that reads a body takes time for every value and repeats some of the texts. So both are limited before other
code looks at the body.
"""

from collections.abc import Mapping
from typing import Any

from normcore.spec import SpecError
from service.errors import BadRequest, Invalid, ServiceError, TooLarge

MAX_VALUES = 30_000  # names and lists included; a claim of 1,000 seeds has 5,000
MAX_LEVELS = 50
MAX_TEXT = 10_000  # characters of one text


def check_size(written: Any) -> None:
    """Check the size of a body's content.

    Raises:
        TooLarge: the body holds too many values.
        BadRequest: the body has too many levels.
        Invalid: a text or a name is too long.
    """
    left, found = [(written, 1)], 0
    while left:
        value, level = left.pop()
        found += 1
        if isinstance(value, str):
            if len(value) > MAX_TEXT:
                raise _too_long(written, value)
            continue
        if not isinstance(value, Mapping | list):
            continue
        if level > MAX_LEVELS:
            raise BadRequest(f"the body is nested over {MAX_LEVELS} levels deep; a spec has three levels")
        if found + len(left) + len(value) > MAX_VALUES:
            raise TooLarge(f"the body holds over {MAX_VALUES:,} values; no spec, sweep or result does")
        if isinstance(value, Mapping):
            left += [(name, level + 1) for name in value]
        left += [(part, level + 1) for part in (value.values() if isinstance(value, Mapping) else value)]


def _too_long(written: Any, text: str) -> ServiceError:
    wrong = f"a text has {len(text):,} characters; shorten it to {MAX_TEXT:,}"
    return Invalid([SpecError(_path_to(written, text), wrong, "too_long")])


def _path_to(written: Any, text: str) -> tuple[str | int, ...]:
    """Find the path to a text in a body. For a field's name, this is the path to its object."""
    left: list[tuple[tuple[str | int, ...], Any]] = [((), written)]
    while left:
        path, value = left.pop()
        if value is text:
            return path
        if isinstance(value, Mapping):
            if any(name is text for name in value):
                return path
            left += [
                ((*path, name if isinstance(name, str | int) else str(name)), part) for name, part in value.items()
            ]
        elif isinstance(value, list):
            left += [((*path, k), part) for k, part in enumerate(value)]
    return ()

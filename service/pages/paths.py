"""Values in nested mappings, by dotted path."""

from collections.abc import Mapping
from typing import Any, Final

NOTHING: Final = object()


def at(nested: Mapping[str, Any], path: str) -> Any:
    """Value at a path; ``NOTHING`` if there is none."""
    found: Any = nested
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return NOTHING
        found = found[name]
    return found


def put(nested: dict[str, Any], path: str, value: Any) -> None:
    """Put a value there, in place of what is no mapping on the way."""
    *above, last = path.split(".")
    for name in above:
        inner = nested.get(name)
        if not isinstance(inner, dict):
            inner = nested[name] = {}
        nested = inner
    nested[last] = value

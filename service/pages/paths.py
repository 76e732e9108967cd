"""Values in nested mappings, by dotted path."""

from collections.abc import Mapping
from typing import Any, Final

NOTHING: Final = object()


def at(nested: Mapping[str, Any], path: str) -> Any:
    """Value at a dotted path; ``NOTHING`` if the path does not exist."""
    found: Any = nested
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return NOTHING
        found = found[name]
    return found


def put(nested: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a dotted path. Anything on the way that is not a mapping is replaced by a mapping."""
    *above, last = path.split(".")
    for name in above:
        inner = nested.get(name)
        if not isinstance(inner, dict):
            inner = nested[name] = {}
        nested = inner
    nested[last] = value

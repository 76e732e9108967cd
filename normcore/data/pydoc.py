"""Python's own documentation, the text that is always at hand. Torch-free."""

from functools import cache
from importlib import import_module


@cache
def pydoc_text() -> str:
    """Python's documentation topics, joined by line ends in the order of their names."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return "\n".join(topics[name] for name in sorted(topics))

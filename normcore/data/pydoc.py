"""Python's own documentation, a text that every installation of Python has. Torch-free."""

from functools import cache
from importlib import import_module


@cache
def pydoc_text() -> str:
    """Python's documentation topics, joined by line ends in the order of their names."""
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return "\n".join(topics[name] for name in sorted(topics))

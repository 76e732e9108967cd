"""Descriptions of the values that a field takes, for messages."""

import json
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from normcore.spec.messages import BOUNDS

NOUNS = {int: "whole number", float: "number", str: "text"}


def describe_values(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """Describe the values of a type: ``a list of any of "r", "z", "n", such as ["r"]``. The text is empty for an
    unusual type."""
    kind, args = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return describe_values(args[0], [*metadata, *annotation.__metadata__])
    if kind in (Union, UnionType):
        shapes = ["null" if arg is type(None) else describe_values(arg, metadata) for arg in args]
        return " or ".join(shapes) if all(shapes) else ""
    if kind is Literal:
        return " or ".join(json.dumps(arg) for arg in args)
    if kind in (list, tuple):
        return _describe_list(args[0])
    if annotation is bool:
        return "true or false"
    if annotation not in NOUNS:
        return ""
    noun = "text" if annotation is str else f"a {NOUNS[annotation]}"
    return " ".join([noun, *_bounds(metadata)])


def _describe_list(items: Any) -> str:
    metadata = []
    while get_origin(items) is Annotated:
        metadata += items.__metadata__
        items = get_args(items)[0]
    if get_origin(items) is Literal:
        names = get_args(items)
        return f"a list of any of {', '.join(map(json.dumps, names))}, such as {json.dumps(names[:1])}"
    if items not in NOUNS:
        return "a list"
    example = '["a"]' if items is str else "[1, 2]"
    return f"{' '.join([f'a list of {NOUNS[items]}s', *_bounds(metadata)])}, such as {example}"


def _bounds(metadata: Sequence[Any]) -> list[str]:
    """Describe the bounds of a number, as one text; the list is empty if there are no bounds."""
    return [" and ".join(bounds)] if (bounds := list(_each_bound(metadata))) else []


def _each_bound(metadata: Sequence[Any]) -> Iterator[str]:
    for one in metadata:
        yield from _each_bound(getattr(one, "metadata", ()))  # of pydantic's Field
        for name, words in BOUNDS.values():
            bound = getattr(one, name, None)
            if bound is not None:
                yield f"{words} {bound}"

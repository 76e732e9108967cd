"""The client's types of answers are those that the API describes: the same fields, with values of the same types."""

from collections.abc import Mapping, Sequence
from functools import cache
from inspect import getmembers, isclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from guide.reference.http import openapi
from normbench import answers

Schema = Mapping[str, Any]
OF_THE_CLIENT = {"Changed", "Deviation", "Replayed"}  # answers that the client computes itself from two runs
ANSWERS: dict[str, Any] = {name: kind for name, kind in getmembers(answers, isclass) if is_typeddict(kind)}
OTHER_NAMES = {"Recipe": "ReplayOut", "SubmittedResult": "ResultOut"}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


@cache
def components() -> Schema:
    return openapi()["components"]["schemas"]  # type: ignore[no-any-return]


@cache
def classes() -> Mapping[str, str]:
    """The client's class of each component that it has a class for."""
    return {
        next(one for one in (OTHER_NAMES.get(name, name), f"{name}Out") if one in components()): name
        for name in ANSWERS.keys() - OF_THE_CLIENT
    }


def described(schema: Schema) -> set[str]:
    """Types of the values that a schema allows. An object that the client has no class for is a dictionary."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {classes()[name]} if name in classes() else described(components()[name])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return set().union(*map(described, choices))
    if literals := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return set(map(repr, literals))
    kind = schema.get("type", "any")
    if kind == "array":
        items = schema.get("prefixItems") or [schema["items"]]
        return {f"[{joined(set().union(*map(described, items)))}]"}
    if kind == "object":
        keys, values = schema.get("propertyNames", {"type": "string"}), schema.get("additionalProperties")
        return {f"{{{joined(described(keys))}: {joined(described(values if isinstance(values, Mapping) else {}))}}}"}
    return {kind}


def typed(hint: Any) -> set[str]:
    """Types of the values that a type hint allows, named as ``described`` names them."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return set().union(*map(typed, parts))
    if origin is Literal:
        return set(map(repr, parts))
    if origin is dict:
        return {f"{{{joined(typed(parts[0]))}: {joined(typed(parts[1]))}}}"}
    if origin in (list, Sequence):
        return {f"[{joined(typed(parts[0]))}]"}
    return {hint.__name__ if is_typeddict(hint) else JSON_TYPES[hint]}


def joined(types: set[str]) -> str:
    """Name of a choice of types. A number may be an integer."""
    return " | ".join(sorted(types - {"integer"} if "number" in types else types))


def test_the_client_has_types_of_answers() -> None:
    assert {"Experiment", "Run", "Leaderboard"} < ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - OF_THE_CLIENT))
def test_an_answer_has_the_fields_that_the_api_describes(name: str) -> None:
    [schema] = (components()[theirs] for theirs, ours in classes().items() if ours == name)
    kind = ANSWERS[name]
    assert kind.__required_keys__ == set(schema.get("required", ()))
    assert {field: joined(typed(hint)) for field, hint in get_type_hints(kind).items()} == {
        field: joined(described(values)) for field, values in schema["properties"].items()
    }

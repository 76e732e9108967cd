"""The client's types of answers are those that the API describes: the same fields, each of the same JSON types."""

from collections.abc import Mapping, Sequence
from inspect import getmembers, isclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from guide.reference.http import openapi
from normbench import answers

Schema = Mapping[str, Any]
OF_THE_CLIENT = {"Changed", "Deviation", "Replayed"}  # answers that the client computes itself from two runs
ANSWERS = {name: kind for name, kind in getmembers(answers, isclass) if is_typeddict(kind)}
OTHER_NAMES = {"Recipe": "ReplayOut", "SubmittedResult": "ResultOut"}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}


def described(schema: Schema, components: Schema) -> set[str]:
    """The JSON types that a schema allows; ``any`` if it does not say."""
    if "$ref" in schema:
        return described(components[schema["$ref"].rpartition("/")[2]], components)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return set().union(*(described(choice, components) for choice in choices))
    return {schema.get("type", "any")}


def typed(hint: Any) -> set[str]:
    """The JSON types of the values that a type hint allows."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return set().union(*map(typed, get_args(hint)))
    if origin is Literal:
        return {JSON_TYPES[type(value)] for value in get_args(hint)}
    if is_typeddict(hint) or origin is dict:
        return {"object"}
    if origin in (list, Sequence):
        return {"array"}
    return {JSON_TYPES[hint]}


def test_the_client_has_types_of_answers() -> None:
    assert {"Experiment", "Run", "Leaderboard"} < ANSWERS.keys()


@pytest.fixture(scope="module")
def components() -> Schema:
    return openapi()["components"]["schemas"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - OF_THE_CLIENT))
def test_an_answer_has_the_fields_that_the_api_describes(name: str, components: Schema) -> None:
    theirs = components.get(OTHER_NAMES.get(name, name)) or components[f"{name}Out"]
    found = {field: typed(hint) for field, hint in get_type_hints(ANSWERS[name]).items()}
    assert found == {field: described(schema, components) for field, schema in theirs["properties"].items()}

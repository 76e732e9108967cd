"""The client's types of answers are those that the API describes: the same fields, with values of the same types.
Each call of the client returns the type that the API describes for the call's request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter, getmembers, isclass, isfunction, signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_overloads, get_type_hints, is_typeddict

import pytest

from guide.reference.http import openapi
from normbench import Client, answers, shown_answers
from normbench.shown_answers import Pages, ShownAnswer, ShownList
from tests.normbench.script_server import Answer, Request, scripted

Schema = Mapping[str, Any]
OF_THE_CLIENT = {
    "ReplayChange",
    "Deviation",
    "ReplayComparison",
}  # answers that the client computes itself from two runs
SHOWN: dict[str, type[ShownAnswer]] = {kind.__name__: kind for kind in ShownAnswer.__subclasses__()}
"""Answers with methods. Their fields are the keys that ``__getitem__`` takes."""
ANSWERS: dict[str, Any] = {name: kind for name, kind in getmembers(answers, isclass) if is_typeddict(kind)} | SHOWN
OTHER_NAMES = {"Recipe": "ReplayOut", "SubmittedResult": "ResultOut"}
JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null", Any: "any"}

# Calls that make their answer from the answers of others, or that return bytes, tables or a picture.
COMPOSED = {
    *("artifact_text", "compare_replay", "curves_frame", "download", "export", "export_figure", "figure"),
    *("leaderboard_frame", "looks", "looks_at_sweep", "measurements_frame", "replay", "submit_replay", "wait"),
    *("wait_for_sweep", "watch"),
}
OWN = {"close", "content", "is_ready"}  # calls that return no answer of the API
OF_ANY_KIND = {"catalogue"}  # returns rows whose fields depend on its argument
CALLS = [name for name, _ in getmembers(Client, isfunction) if name[0] != "_" and name not in COMPOSED | OWN]


@cache
def description() -> Schema:
    return openapi()


def components() -> Schema:
    return description()["components"]["schemas"]  # type: ignore[no-any-return]


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
    if origin in (list, Sequence, ShownList):
        return {f"[{joined(typed(parts[0]))}]"}
    return {hint.__name__ if hint in ANSWERS.values() else JSON_TYPES[hint]}


def fields(kind: Any) -> dict[str, Any]:
    """Type hints of an answer's fields."""
    if kind not in SHOWN.values():
        return get_type_hints(kind)
    hints = [get_type_hints(one, vars(shown_answers)) for one in get_overloads(kind.__getitem__)]
    return {field: hint["return"] for hint in hints for field in get_args(hint["key"])}


def joined(types: set[str]) -> str:
    """Name of a choice of types. A number may be an integer."""
    return " | ".join(sorted(types - {"integer"} if "number" in types else types))


def test_the_client_has_types_of_answers() -> None:
    assert {"Experiment", "Run", "Leaderboard"} < ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - OF_THE_CLIENT))
def test_an_answer_has_the_fields_that_the_api_describes(name: str) -> None:
    [schema] = (components()[theirs] for theirs, ours in classes().items() if ours == name)
    kind = ANSWERS[name]
    if name not in SHOWN:
        assert kind.__required_keys__ == set(schema.get("required", ()))
    assert {field: joined(typed(hint)) for field, hint in fields(kind).items()} == {
        field: joined(described(values)) for field, values in schema["properties"].items()
    }


def request_of(call: str) -> Request:
    """Make a call of the client with any arguments, and return the request that it sends."""
    with (
        scripted(Answer({"items": [], "next_cursor": None, "series": {}}, 201)) as script,
        Client(script.url) as client,
    ):
        parameters = signature(getattr(client, call)).parameters.values()
        required = [one for one in parameters if one.default is one.empty and one.kind != Parameter.VAR_KEYWORD]
        given: list[Any] = [{} if "Mapping" in str(one.annotation) else "0" * 64 for one in required]
        found = getattr(client, call)(*given)
        if isinstance(found, Iterator):
            list(found)
        [request] = script.requests
        return request


def answer_of(request: Request) -> Schema:
    """Schema of the answer to a request. Of a list or a page, the schema of its rows."""
    path, _, query = request.path.partition("?")
    templates = [one for one in description()["paths"] if re.fullmatch(re.sub(r"{\w+}", "[^/]+", one), path)]
    template = min(templates, key=lambda one: one.count("{"))
    responses = description()["paths"][template][request.method.lower()]["responses"]
    status = min((one for one in responses if one[0] == "2"), key="201 202 200".index)
    schema = responses[status]["content"]["application/json"]["schema"]
    if "dry_run" in query:  # a plan, or else the answer of a repeated submission
        [schema] = (one for one in responses["200"]["content"]["application/json"]["schema"]["anyOf"] if one != schema)
    while "$ref" in schema and not described(schema) <= ANSWERS.keys():
        schema = components()[schema["$ref"].rpartition("/")[2]]
        schema = schema["properties"].get("items", schema["properties"].get("series", schema))
    return schema  # type: ignore[no-any-return]


@pytest.mark.parametrize("call", sorted({*CALLS} - OF_ANY_KIND))
def test_a_call_returns_the_type_that_the_api_describes(call: str) -> None:
    returned = get_type_hints(getattr(Client, call))["return"]
    row = get_args(returned)[0] if get_origin(returned) in (Pages, tuple) else returned
    schema = answer_of(request_of(call))
    if get_origin(returned) is Pages:
        schema = schema["items"]
    assert joined(typed(row)) == joined(described(schema))

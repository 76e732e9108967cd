"""Table of the options of a part of a spec, from the JSON Schema of the part."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service import wording

WORDS = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "null": "none"}
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


@dataclass(frozen=True)
class Option:
    """Row of the table: name of an option, values that it may have, its default, and what it means."""

    name: str
    may_be: str
    default: str
    help: str


def options_of(schema: Mapping[str, Any], without: Collection[str] = ()) -> Sequence[Option]:
    """Options of an object with this JSON Schema, but not the options that ``without`` names."""
    return [
        Option(
            name,
            may_be(option),
            wording.option(option["default"]) if "default" in option else "required",
            option.get("description", ""),
        )
        for name, option in schema["properties"].items()
        if name not in without
    ]


def may_be(schema: Mapping[str, Any]) -> str:
    """Describe the values that a schema allows: ``number > 0``, ``raw or normalized``."""
    if "anyOf" in schema:
        return " or ".join(may_be(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(", ".join(map(str, schema["enum"])).rsplit(", ", 1))
    if schema.get("type") == "array":
        return f"list of: {may_be(schema.get('items', {}))}"
    limits = " and ".join(f"{sign} {_limit(schema[name])}" for name, sign in LIMITS.items() if name in schema)
    return f"{WORDS.get(schema.get('type', ''), 'see the API')} {limits}".strip()


def _limit(number: float) -> str:
    return wording.steps(number) if isinstance(number, int) else f"{number:g}"

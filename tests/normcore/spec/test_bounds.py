"""Everything in a spec whose length a user decides has a bound, so that no list, page or row can become very long."""

from collections.abc import Iterator
from typing import Any

import pytest

from normcore.spec.experiment import AnalysisSpec, TrainingSpec

BOUNDS = {"array": {"maxItems"}, "string": {"maxLength", "enum", "const", "pattern"}, "object": {"maxProperties"}}


def unbounded(schema: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the parts of a JSON schema that have no bound. An object whose fields are fixed needs none."""
    if isinstance(schema, dict):
        kind = schema.get("type")
        is_fixed = kind == "object" and schema.get("additionalProperties", False) is False
        if isinstance(kind, str) and not is_fixed and not BOUNDS.get(kind, schema.keys()) & schema.keys():
            yield path
        for key, part in schema.items():
            yield from unbounded(part, f"{path}/{key}")
    elif isinstance(schema, list):
        for k, part in enumerate(schema):
            yield from unbounded(part, f"{path}/{k}")


@pytest.mark.parametrize("kind", [TrainingSpec, AnalysisSpec])
def test_every_list_text_and_mapping_of_a_spec_has_a_bound(kind: Any) -> None:
    assert list(unbounded(kind.model_json_schema())) == []


def test_what_has_no_bound_is_found() -> None:
    names = {"type": "array", "items": {"type": "string"}}
    labels = {"type": "object", "additionalProperties": {"type": "integer"}}
    fields = {"names": names, "labels": labels, "both": {**names, "maxItems": 3, "items": {"enum": ["a", "b"]}}}
    assert list(unbounded({"type": "object", "properties": fields})) == [
        "/properties/names",
        "/properties/names/items",
        "/properties/labels",
    ]

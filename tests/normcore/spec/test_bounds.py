"""Everything in a spec whose length a user decides has a bound, so that no list, page or row can become very long.

A list whose order means nothing has one form, so that equal trainings have one fingerprint.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import TypeAdapter, ValidationError

from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.experiment import AnalysisSpec, TrainingSpec
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.tasks import BENCHMARKS

BOUNDS = {"array": {"maxItems"}, "string": {"maxLength", "enum", "const"}, "object": {"maxProperties"}}
ANY_LENGTH = re.compile(r"[*+]|\{\d+,\}")  # in a pattern
IN_ORDER = {"hidden_sizes", "stage_channels"}  # lists of layers, from the first to the last

PARTS: set[type[Part]] = {
    *chain(METHODS.values(), CELLS.values(), BENCHMARKS.values(), ANALYSES.values(), OPTIMIZERS.values()),
    *(kind for family in MODELS.values() for kind in family.kinds().values()),
}


def unbounded(schema: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the parts of a JSON schema that have no bound. An object whose fields are fixed needs none."""
    if isinstance(schema, dict):
        kind = schema.get("type")
        if isinstance(kind, str) and not _is_bounded(kind, schema):
            yield path
        for key, part in schema.items():
            yield from unbounded(part, f"{path}/{key}")
    elif isinstance(schema, list):
        for k, part in enumerate(schema):
            yield from unbounded(part, f"{path}/{k}")


def _is_bounded(kind: str, schema: dict[str, Any]) -> bool:
    patterns = [schema["pattern"]] if "pattern" in schema else list(schema.get("patternProperties", ()))
    if any(map(ANY_LENGTH.search, patterns)):
        return False
    if kind == "object" and not schema.get("additionalProperties", False):
        return not patterns or "maxProperties" in schema
    return bool(BOUNDS.get(kind, schema.keys()) & schema.keys()) or (kind == "string" and bool(patterns))


def test_every_list_text_and_mapping_of_a_spec_has_a_bound() -> None:
    seen = set()
    for kind in (TrainingSpec, AnalysisSpec):
        schema = kind.model_json_schema()
        assert list(unbounded(schema)) == []
        seen |= schema["$defs"].keys()
    assert {part.__name__ for part in PARTS} <= seen


def test_what_has_no_bound_is_found() -> None:
    names = {"type": "array", "items": {"type": "string"}}
    fields = {
        "names": names,
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "keys": {"type": "object", "maxProperties": 3, "patternProperties": {"^a+$": {"type": "integer"}}},
        "word": {"type": "string", "pattern": "^[a-z]{2,}$"},
        "id": {"type": "string", "pattern": "^[a-z]{2,9}$"},
        "both": {**names, "maxItems": 3, "items": {"enum": ["a", "b"]}},
    }
    assert list(unbounded({"type": "object", "properties": fields})) == [
        "/properties/names",
        "/properties/names/items",
        "/properties/labels",
        "/properties/keys",
        "/properties/word",
    ]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (part, name)
        for part in sorted(PARTS, key=lambda part: part.__qualname__)
        for name, field in part.model_fields.items()
        if get_origin(field.annotation) is tuple and name not in IN_ORDER
    ],
)
def test_a_list_whose_order_means_nothing_has_one_form(part: type[Part], name: str) -> None:
    field = part.model_fields[name]
    written: Any = Annotated[(field.annotation, *field.metadata)]
    read = TypeAdapter[Any](written).validate_python
    item = get_args(field.annotation)[0]
    first, second = get_args(item)[:2] if get_origin(item) is Literal else (2, 3)
    assert read([first, second]) == read([second, first])
    with pytest.raises(ValidationError, match="once"):
        read([first, second, first])

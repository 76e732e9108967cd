"""Messages on values that a field of a spec does not take, with the line to write."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model

from normcore.spec.blanks import BLANK
from normcore.spec.experiment import HASHED
from normcore.spec.messages import (
    BOUNDS,
    Advice,
    as_name,
    choose,
    line,
    literals,
    message,
    nearest,
    quote_value,
)
from normcore.spec.part import Part
from normcore.spec.spelling import CHOICES, MOST_ITEMS, Path, as_it_is_spelt, as_object, choices

OF_A_SWEEP = ("spec",)  # path of the spec in a sweep
OBJECTS: Mapping[Path, Mapping[str, Any]] = {
    ("training",): {"max_steps": BLANK},
    ("training", "schedule"): {"start": BLANK},
}
"""Shapes of parts that have no tag."""
CLIP = ("training", "clip")
NO_OBJECT = ("object", "model_type")  # pydantic's codes of the error, and the registries'
NOTHING = ("none", "null", "nil", "off", "no", "false")  # what people write for null
PartClasses = Mapping[Path, type[BaseModel]]


def wrong_value(error: Any, loc: Path, value: Any, parts: PartClasses) -> str:
    """Write the message for an error of pydantic's about the value of a field.

    Args:
        loc: path of the field.
        value: value of the field.
        parts: the class of each part of the spec, by path.
    """
    if _is_nothing(value) and _can_be_null(loc, parts):
        allowed = _of_null(loc, parts) or "null is allowed, without quotes"
        return Advice(f"{message(error)}; {allowed}", loc, None, ": write")
    if error["type"] in NO_OBJECT:
        return _no_object(error, loc, value)
    if isinstance(value, list) and (advice := _one_of(value, loc, parts)):
        return advice
    if loc[-2:] == CLIP and (_is_nothing(value) or type(value) in (int, float)):
        norm = None if _is_nothing(value) else value
        return Advice(f"{message(error)}; the largest norm is clip_norm", (*loc[:-1], "clip_norm"), norm, ": write")
    if error["type"] == "literal_error" and (meant := nearest(as_name(value), literals(error))):
        return Advice(message(error), loc, meant[0], " write")
    described = _of_null(loc, parts) if error["type"] in BOUNDS else ""
    return f"{message(error)}; {described}" if described else message(error)


def missing(error: Any, loc: Path, parts: PartClasses) -> str:
    """Write the message for a missing field, with the field's example if it has one."""
    field = _field(loc, parts)
    examples = (field.examples if field else None) or [OBJECTS.get(loc[:-1], {}).get(str(loc[-1]))]
    return message(error) if examples == [None] else Advice(message(error), loc, examples[0], ", as")


def refusal(path: Path, value: Any, parts: PartClasses) -> str | None:
    """Say why the field of this path does not take a value, and what to write; None if it takes the value. The fields
    of a part are not checked, because the profile may complete them."""
    known = choices(path)
    if known:
        return None if isinstance(value, str) and value in known else _unknown_name(path, value, known, parts)
    error = _find_error(path, value, parts)
    if error is None:
        return None
    loc = (*path[:-1], *error["loc"])
    return wrong_value({**error, "loc": loc}, loc, value if loc == path else error["input"], parts)


def takes(path: Path, value: Any, parts: PartClasses) -> bool:
    """Tell if the field of this path takes a value. Compared with ``refusal``, this takes little time."""
    known = choices(path)
    return isinstance(value, str) and value in known if known else _find_error(path, value, parts) is None


def _find_error(path: Path, value: Any, parts: PartClasses) -> Any:
    part, name = parts.get(path[:-1]), str(path[-1])
    is_part = isinstance(value, Mapping) and (path in parts or name in (*CHOICES, "labels"))
    if part is None or name not in part.model_fields or is_part:
        return None
    try:
        _alone(part, name).model_validate({name: value})
    except ValidationError as refused:
        return refused.errors(include_url=False)[0]
    return None


@cache
def _alone(part: type[BaseModel], name: str) -> type[BaseModel]:
    """Make a class that has only this field of a part, so that a value is checked without the other fields."""
    field = part.model_fields[name]
    fields: dict[str, Any] = {name: (field.annotation, field)}
    return create_model(name, __base__=Part, **fields)


def _no_object(error: Any, loc: Path, value: Any) -> str:
    """Write the message for a part that is no object: with the object that a list means, or with an example."""
    tag, known = CHOICES.get(str(loc[-1]), ("", ()))
    names = [nearest(name, known) for name in value] if isinstance(value, list) and len(value) <= MOST_ITEMS else []
    if len(names) > 1 and all(names):
        return _in_a_grid((*loc, tag), [name[0] for name in names])
    meant = as_object(loc, value) if isinstance(value, list) else None
    if tag:
        return Advice("expected an object", (), meant, ", as") if meant else message(error)
    shown = meant or OBJECTS.get(_in_the_spec(loc))
    return Advice(message(error), loc, shown) if shown else message(error)


def _one_of(values: Sequence[Any], loc: Path, parts: PartClasses) -> str:
    """Write advice on a list for a field that takes each of its values; an empty text if it does not take them."""
    if len(values) > MOST_ITEMS:
        return ""
    spelt = as_it_is_spelt(loc, values)
    if not spelt or _in_the_spec(loc)[0] not in HASHED or any(refusal(loc, value, parts) for value in spelt):
        return ""
    return Advice("expected a value, not a list", loc, spelt[0]) if len(spelt) == 1 else _in_a_grid(loc, spelt)


def _in_a_grid(loc: Path, values: Sequence[Any]) -> str:
    axis = line(("grid", ".".join(map(str, _in_the_spec(loc)))), values)
    return f"only a sweep tries several values: write {axis} into a file for `normbench sweep`"


def _unknown_name(path: Path, value: Any, known: Any, parts: PartClasses) -> str:
    """Write advice on a tag that is no known name: the list of the names, with the line of the present choice."""
    if isinstance(value, list) and (advice := _one_of(value, path, parts)):
        return advice
    field = _field(path, parts)
    told = f"unknown {quote_value(value)}; {choose(value, known)}"
    return Advice(told, path, field.default, ", as") if field else told


def _in_the_spec(loc: Path) -> Path:
    return loc[1:] if loc[:1] == OF_A_SWEEP else loc


def _is_nothing(value: Any) -> bool:
    return isinstance(value, str | bool) and str(value).lower() in NOTHING


def _field(loc: Path, parts: PartClasses) -> Any:
    """Return pydantic's field of a path; None if its part is not known, or has no such field."""
    part = parts.get(loc[:-1])
    return part.model_fields.get(str(loc[-1])) if part else None


def _can_be_null(loc: Path, parts: PartClasses) -> bool:
    field = _field(loc, parts)
    return field is not None and type(None) in get_args(field.annotation)


def _of_null(loc: Path, parts: PartClasses) -> str:
    """Repeat what the description of a field says of null; an empty text if it says nothing."""
    field = _field(loc, parts)
    described = field.description.rstrip(".").split("; ") if field and field.description else []
    return next((clause for clause in described if clause.startswith("null ")), "")

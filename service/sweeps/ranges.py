"""Reading of values and distributions as people write them: objects with ``min`` and ``max``, or ``range(3)``."""

import math
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from pydantic import ValidationError

from normcore.spec.messages import is_unclear, nearest, same_name
from service.sweeps.distribution import Distribution

MAX_LISTED = 50  # values of a range that a line spells out
ROLES: Mapping[str, str] = {
    **dict.fromkeys(("min", "minimum", "low", "lower", "from", "start", "begin", "least"), "least"),
    **dict.fromkeys(("max", "maximum", "high", "upper", "to", "stop", "end", "most"), "most"),
    **dict.fromkeys(("step", "by", "increment"), "step"),
    **dict.fromkeys(("num", "n", "count", "number", "points"), "count"),
    **dict.fromkeys(("values", "choices", "choice", "options"), "values"),
    **dict.fromkeys(("name", "type", "kind", "distribution", "dist"), "name"),
}
"""Role of a field of a range or a distribution, by the field's name in small letters."""
MAY_BE_LEFT_OUT = ("stop", "end")  # names of an end that some people's ranges include, and others' do not
OTHER_NAMES = {"loguniform": "log_uniform", "integer": "int_uniform", "categorical": "choice", "choices": "choice"}
NORMAL = re.compile(r".{0,20}normal.{0,20}|gauss(?:ian)?|mean|mu|std|sigma|variance", re.IGNORECASE)
MOST = 1e300  # numbers of a range that is spelt out are smaller
LARGEST = sys.float_info.max
MOST_FIELDS = 10  # fields of an object that is read
A_NUMBER = r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERS = re.compile(rf"{A_NUMBER}(?:[,;\s]+{A_NUMBER})*")
CALL = re.compile(r"(\w{1,40})\s*[(\[]([^()\[\]]*)[)\]]")
BOUNDS = re.compile(rf"({A_NUMBER})\s*(?:\.\.+|…|–|-|to)\s*({A_NUMBER})")
WORDS = re.compile(r"[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*")
PATH = re.compile(r"[A-Za-z_/~][^\s,;:()\[\]{}…]*")
LONGEST_TEXT = 1000  # letters of a text that is read


def read_values(given: Any, *, is_whole: bool | None) -> list[Any] | None:
    """Read the values of a grid's field from a value that is not a list; None if its meaning is not certain, or if the
    field refuses the values.

    Args:
        is_whole: whether the field takes whole numbers; None if the field is not known.
    """
    return _fit_values(_read_values(given), is_whole)


def read_distribution(given: Any, *, is_whole: bool | None) -> Mapping[str, Any] | None:
    """Read a distribution; None if its meaning is not certain, or if the field refuses the distribution.

    Args:
        is_whole: whether the field takes whole numbers; None if the field is not known.
    """
    found = _read_choice(given) if isinstance(given, list) else _read_distribution(given)
    if found is None:
        return None
    [(kind, values)] = found.items()
    if kind == "log_uniform" and is_whole:
        return None
    kind = "int_uniform" if kind == "uniform" and is_whole else kind
    fitted = _fit_values(values, is_whole or kind == "int_uniform")
    return {kind: fitted} if fitted is not None and _is_distribution({kind: fitted}) else None


def _read_values(given: Any) -> list[Any] | None:
    if isinstance(given, str):
        return _read_text(given.strip()) if not is_unclear(given) else None
    if isinstance(given, Mapping):
        return _read_listed(_find_roles(given), given)
    return given if isinstance(given, list) else [given] if isinstance(given, int | float) else None


def _read_distribution(given: Any) -> Mapping[str, Any] | None:
    if isinstance(given, str):
        return _read_distribution_text(given.strip())
    if not isinstance(given, Mapping) or is_normal(given):
        return None
    if len(given) == 1:
        [(name, value)] = given.items()
        known = find_distribution(name)
        if known is not None:
            return _of_kind(known, value)
    roles = _find_roles(given)
    if roles is None:
        return None
    named = find_distribution(roles["name"]) if "name" in roles else None
    return None if named is None and "name" in roles else _read_roles(named, roles, given)


def _fit_values(values: list[Any] | None, is_whole: bool | None) -> list[Any] | None:
    """Write whole numbers as integers if the field takes only whole numbers; None if it refuses one of the numbers, or
    if a number is not finite."""
    numbers = [value for value in values or () if type(value) in (int, float)]
    if values is None or not all(-LARGEST <= number <= LARGEST for number in numbers):
        return None
    if not is_whole:
        return values
    if not all(number == int(number) for number in numbers):
        return None
    return [int(value) if isinstance(value, float) else value for value in values]


def _is_distribution(found: Mapping[str, Any]) -> bool:
    try:
        Distribution.model_validate(found)
    except ValidationError:
        return False
    return True


def find_distribution(name: Any) -> str | None:
    """Find the distribution that a name means; None if there is none."""
    if not isinstance(name, str) or NORMAL.fullmatch(name):
        return None
    known = Distribution.model_fields
    return same_name(name, known) or OTHER_NAMES.get(name.lower()) or next(iter(nearest(name, known)), None)


def is_normal(given: Any) -> bool:
    """Tell if a value means a normal distribution, which does not exist here."""
    if isinstance(given, Mapping):
        return any(is_normal(part) for pair in islice(given.items(), MOST_FIELDS) for part in pair)
    return isinstance(given, str) and NORMAL.fullmatch(given.split("(")[0].strip()) is not None


def _read_roles(named: str | None, roles: Mapping[str, Any], given: Mapping[Any, Any]) -> Mapping[str, Any] | None:
    """Read a distribution from fields such as ``min`` and ``max``. ``named`` is its kind, if the user named one."""
    keys = roles.keys() - {"name"}
    if keys == {"values"}:
        return _of_kind(named or "choice", roles["values"])
    if keys == {"least", "most"} and named != "choice":
        return _of_kind(named or "uniform", [roles["least"], roles["most"]])
    listed = _read_listed({name: roles[name] for name in keys}, given) if named in (None, "uniform", "choice") else None
    return None if listed is None else {"choice": listed}


def _of_kind(kind: str, value: Any) -> Mapping[str, Any] | None:
    """Read what the distribution of this kind takes: a list of values, or the least and the largest number."""
    if isinstance(value, str):
        if is_unclear(value):
            return None
        read = _read_text(value.strip()) if kind == "choice" else _read_bounds(value.strip())
        return _of_kind(kind, read) if read else None
    if isinstance(value, Mapping):
        roles = _find_roles(value)
        return None if roles is None or "name" in roles else _read_roles(kind, roles, value)
    if kind == "choice":
        return {kind: value if isinstance(value, list) else [value]} if value not in (None, []) else None
    if not isinstance(value, list) or not _are_bounds(bounds := sorted(value, key=_sort_key)):
        return None
    return {kind: bounds}


def _read_choice(given: Sequence[Any]) -> Mapping[str, Any] | None:
    """Read a list as a choice; None for two numbers, which may be a choice or the bounds of a range."""
    return None if not given or _are_two_numbers(given) else {"choice": given}


def read_two_numbers(given: Any, *, is_whole: bool | None) -> list[Any] | None:
    """Read a list, or a text, of two numbers, which may be a choice or the bounds of a range; None for other values."""
    read = _read_values(given) if isinstance(given, str) else given
    return _fit_values(read, is_whole) if _are_two_numbers(read) else None


def _are_two_numbers(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 2 and all(type(value) in (int, float) for value in given)


def _sort_key(value: Any) -> float:
    return value if type(value) in (int, float) else math.nan


def _are_bounds(values: Sequence[Any]) -> bool:
    """Tell if there are two numbers, the least first."""
    return _are_two_numbers(values) and bool(values[0] < values[1])


def _find_roles(given: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Read the fields of a range by what they are; None if a field is unknown or stands twice."""
    if len(given) > MOST_FIELDS:
        return None
    roles = [ROLES.get(name.lower(), "") if isinstance(name, str) else "" for name in given]
    known = all(roles) and len(set(roles)) == len(roles)
    return {role: _as_number(value) for role, value in zip(roles, given.values(), strict=True)} if known else None


def _read_listed(roles: Mapping[str, Any] | None, given: Mapping[Any, Any]) -> list[Any] | None:
    """Read values that are listed, or that a range with a step or a number of values has."""
    keys = set(roles or ())
    if roles and keys == {"values"}:
        return roles["values"] if isinstance(roles["values"], list) and roles["values"] else None
    if not roles or keys not in ({"least", "most", "step"}, {"least", "most", "count"}):
        return None
    if not all(type(number) in (int, float) and -MOST < number < MOST for number in roles.values()):
        return None
    if not roles["least"] < roles["most"]:
        return None
    if "count" in keys:
        return divide(roles["least"], roles["most"], roles["count"])
    values = step_through(roles["least"], roles["most"], roles["step"])
    is_open = any(str(name).lower() in MAY_BE_LEFT_OUT for name in given)
    return None if is_open and values and values[-1] == roles["most"] else values


def step_through(least: float, most: float, step: float) -> list[float] | None:
    """List the values of a range with this step, in decimal numbers as they are written."""
    first, last, by = (Decimal(str(number)) for number in (least, most, step))
    if by <= 0 or (last - first) / by >= MAX_LISTED:
        return None
    values = [first + by * k for k in range(int((last - first) / by) + 1)]
    is_whole = all(type(number) is int for number in (least, step))
    return [int(value) if is_whole else float(value) for value in values]


def divide(least: float, most: float, count: float) -> list[float] | None:
    """List ``count`` values with equal distances, as far as 12 digits show."""
    if type(count) is not int or not 2 <= count <= MAX_LISTED:
        return None
    values = [float(f"{least + (most - least) * k / (count - 1):.12g}") for k in range(count)]
    is_whole = type(least) is int and all(value.is_integer() for value in values)
    return [int(value) for value in values] if is_whole else values


def _read_text(text: str) -> list[Any] | None:
    """Read the values of a text: numbers, words, a path, or Python's ``range``; None for any other text."""
    if len(text) > LONGEST_TEXT:
        return None
    call = CALL.fullmatch(text)
    if call is not None and call[1].lower() == "range":
        return _read_range(call[2])
    if text[:1] + text[-1:] == "[]":
        text = text[1:-1].strip()
    if NUMBERS.fullmatch(text):
        return [_as_number(part) for part in re.split(r"[,;\s]+", text)]
    if WORDS.fullmatch(text):
        return re.split(r"\s*,\s*", text)
    return [text] if PATH.fullmatch(text) and ".." not in text else None


def _read_range(text: str) -> list[int] | None:
    """Read the numbers between the brackets of Python's ``range``."""
    numbers = [_as_number(part.strip()) for part in text.split(",")]
    if not 1 <= len(numbers) <= 3 or not all(type(number) is int for number in numbers) or numbers[2:] == [0]:
        return None
    values = range(*numbers)
    return [*values] if 0 < len(values) <= MAX_LISTED else None


def _read_distribution_text(text: str) -> Mapping[str, Any] | None:
    """Read a distribution from a text such as ``uniform(0.001, 0.1)`` or ``0.001-0.1``."""
    if len(text) > LONGEST_TEXT or is_normal(text):
        return None
    call = CALL.fullmatch(text)
    named = find_distribution(call[1]) if call else None
    if call and named:
        return _of_kind(named, _read_text(f"[{call[2]}]") or call[2])
    if BOUNDS.fullmatch(text):
        return _of_kind("uniform", text)
    values = None if is_unclear(text) else _read_text(text)
    return _read_choice(values) if values and len(values) > 1 else None


def _read_bounds(text: str) -> list[Any] | None:
    """Read the least and the largest number of a text such as ``0.001-0.1`` or ``0.001, 0.1``."""
    if len(text) > LONGEST_TEXT:
        return None
    found = BOUNDS.fullmatch(text)
    return [_as_number(found[1]), _as_number(found[2])] if found else _read_text(text)


def _as_number(given: Any) -> Any:
    """Read a text that is one number; return any other value unchanged."""
    if not isinstance(given, str) or len(given) > LONGEST_TEXT or not re.fullmatch(A_NUMBER, given.strip()):
        return given
    return int(given) if re.fullmatch(r"[-+]?\d{1,18}", given.strip()) else float(given)

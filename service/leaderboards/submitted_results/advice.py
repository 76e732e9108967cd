"""Advice on claims that cannot be read: the line to write, with the user's own numbers and address."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError

from normcore.spec.blanks import BLANK, show_blanks
from normcore.spec.messages import LONGEST_LINE, is_unclear, line
from service.leaderboards.submitted_results.schemas import Address, Provenance, Text
from service.urls import has_password, without_password

VALUE_NAMES = ("value", "accuracy", "score", "result", "error_rate", "bits_per_char", "nats")
SEED_NAMES = ("seed", "run")
A_SEED = re.compile(r"\d{1,10}")
NUMBERS = re.compile(r"[-+.\de]+(?:[\s,;]+[-+.\de]+)*", re.IGNORECASE)
SHOWN = 2  # items of a long list that a line shows
MAX_READ = 100  # fields of an object that are read for advice; an address takes 10 us
LONGEST_TEXT = 50_000  # letters of a text of numbers; a claim has up to 1,000 values
_ADDRESS: TypeAdapter[str] = TypeAdapter(Address)
_TEXT: TypeAdapter[str] = TypeAdapter(Text)


def write_values(given: Any) -> str:
    """Write the line of ``values`` that ``given`` may mean."""
    return _write_values(_read_values(given))


def write_item(given: Any) -> str:
    """Write the item of ``values`` that ``given`` may mean."""
    return show_blanks(json.dumps(_read_item(given)))


def find_values(written: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Find the field of a claim that may hold its values under another name, as ``accuracy``.

    Returns:
        The field's name, and the line of ``values`` to write. None if there is no such field, or more than one.
    """
    names = _find_names(written, VALUE_NAMES)
    if len(names) != 1:
        return None
    [name] = names
    seeds = next((written[other] for other in _find_names(written, SEED_NAMES)), None)
    return name, _write_values(_read_values(written[name]) if seeds is None else _pair(seeds, written[name]))


def find_source(written: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Find the field of a claim that holds the address of its provenance.

    Returns:
        The field's name, and the line of ``provenance`` to write. None if there is no such field.
    """
    first = islice(written.items(), MAX_READ)
    found = [name for name, value in first if isinstance(name, str) and _read_address(value) is not None]
    return (found[0], write_provenance(written[found[0]])) if len(found) == 1 else None


def write_provenance(given: Any) -> str:
    """Write the line of ``provenance`` that ``given`` may mean."""
    known = given if isinstance(given, Mapping) else {}
    others = {name: _read_text(known[name]) for name in Provenance.model_fields if name != "source" and name in known}
    values = [value for name, value in islice(known.items(), MAX_READ) if name not in others]
    values = values if known else given[:MAX_READ] if isinstance(given, list) else [given]
    found = [address for address in map(_read_address, values) if address is not None]
    return line(["provenance"], {"source": found[0] if len(found) == 1 else BLANK, **others})


def _write_values(items: Sequence[Any]) -> str:
    written = line(["values"], items)
    if len(items) > SHOWN and len(written) > LONGEST_LINE:
        written = line(["values"], [*items[:SHOWN], BLANK])
    return written


def _read_values(given: Any) -> list[dict[str, Any]]:
    """Read the list of seeds and values that a value may mean: an object has a value for each seed."""
    if isinstance(given, Mapping):
        if given and all(A_SEED.fullmatch(str(seed)) for seed in given):
            return [_item(seed, value) for seed, value in given.items()]
        seeds, values = (
            next((given[name] for name in _find_names(given, names)), None) for names in (SEED_NAMES, VALUE_NAMES)
        )
        return _pair(seeds, values)
    return _pair(None, given)


def _pair(seeds: Any, values: Any) -> list[dict[str, Any]]:
    """Pair seeds with values. Seeds are unknown if there are more or fewer seeds than values."""
    numbers = _read_numbers(values)
    if not numbers:
        return [_read_item(item) for item in values] if isinstance(values, list) and values else [_item(seeds, values)]
    given = seeds if isinstance(seeds, list) else [seeds]
    of_each = given if len(given) == len(numbers) else [None] * len(numbers)
    return [_item(seed, number) for seed, number in zip(of_each, numbers, strict=True)]


def _read_numbers(given: Any) -> list[float]:
    """Read a number, a list of numbers or a text of numbers; the list is empty for any other value."""
    if isinstance(given, str) and (len(given) > LONGEST_TEXT or is_unclear(given)):
        return []
    if isinstance(given, str) and NUMBERS.fullmatch(given.strip()):
        given = [part for part in re.split(r"[,;\s]+", given.strip()) if part]
    numbers = [_read_number(item) for item in (given if isinstance(given, list) else [given])]
    return [number for number in numbers if number is not None] if None not in numbers else []


def _read_item(given: Any) -> dict[str, Any]:
    """Read the seed and the value that an item of the list may mean: a value, a pair, or an object with other names."""
    if isinstance(given, Mapping):
        seeds, values = _find_names(given, SEED_NAMES), _find_names(given, VALUE_NAMES)
        return _item(*(given[names[0]] if len(names) == 1 else None for names in (seeds, values)))
    if isinstance(given, list):
        is_pair = len(given) == 2 and _read_seed(given[0]) is not None
        return _item(*given) if is_pair else _item(None, None)
    return _item(None, given)


def _item(seed: Any, value: Any) -> dict[str, Any]:
    """Write an item with blanks for a seed and a value that are not such."""
    seed, value = _read_seed(seed), _read_number(value)
    return {"seed": BLANK if seed is None else seed, "value": BLANK if value is None else value}


def _read_seed(given: Any) -> int | None:
    given = _read_whole(given)
    return given if type(given) is int and given >= 0 else None


def _read_whole(given: Any) -> Any:
    """Read a text of digits as a whole number; return any other value unchanged."""
    return int(given) if isinstance(given, str) and A_SEED.fullmatch(given.strip()) else given


def _read_number(given: Any) -> float | None:
    given = _read_whole(given)
    try:
        number = float(given) if isinstance(given, str | int | float) and not isinstance(given, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return given if isinstance(given, int) else number


def _find_names(given: Mapping[Any, Any], names: Sequence[str]) -> list[str]:
    """Find the fields with one of the names, in the singular or the plural, among the first ``MAX_READ`` fields."""
    fields = (name for name in islice(given, MAX_READ) if isinstance(name, str))
    return [name for name in fields if name.lower() in names or name.lower().removesuffix("s") in names]


def _read_text(given: Any) -> str:
    """Read a text, or a number as text; any other value is a blank."""
    try:
        text: str = _TEXT.validate_python(json.dumps(given) if isinstance(given, int | float) else given)
    except ValidationError:
        return BLANK
    return BLANK if has_password(text) else text


def _read_address(given: Any) -> str | None:
    """Read an address, without a password; None for any other value."""
    try:
        return _ADDRESS.validate_python(without_password(given.strip() if isinstance(given, str) else ""))
    except ValidationError:
        return None

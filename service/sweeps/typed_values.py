"""Values of a swept field as a user types them into one line: ``0.1, 0.3, 1``, or ``1e-4..1e-1 log 5``."""

import math
import re
from typing import Any

from service.sweeps.ranges import A_NUMBER, LONGEST_TEXT, MAX_LISTED, NUMBERS, divide, step_through

RANGE = re.compile(rf"({A_NUMBER})\s*(?:\.\.+|…|–|to)\s*({A_NUMBER})(?:\s+(\w+))?(?:\s+({A_NUMBER}))?")
SEPARATORS = re.compile(r"[,;\s]+")
EXAMPLES = "as 1e-4..1e-1 log 5, 0..1 linear 5 or 16..64 step 16"
SCALES = ("log", "linear", "step")


def read_line(text: str) -> list[Any] | str | None:
    """Read the values that a line stands for.

    Returns:
        The values; a message on what is wrong with a range; None for a line that is no list and no range.
    """
    text = text.strip()
    if len(text) > LONGEST_TEXT:
        return None
    found = RANGE.fullmatch(text)
    if found is not None:
        number = _number(found[4]) if found[4] else None
        return _read_range(_number(found[1]), _number(found[2]), found[3], number)
    if not NUMBERS.fullmatch(text):
        return None
    values = [_number(part) for part in SEPARATORS.split(text)]
    return values if len(values) > 1 else None


def write_line(values: list[Any]) -> str:
    """Write values as a line that ``read_line`` reads."""
    return ", ".join(map(repr, values))


def _read_range(least: float, most: float, scale: str | None, number: float | None) -> list[Any] | str:
    if scale is None or number is None:
        return f"say how many values the range has, {EXAMPLES}"
    if scale not in SCALES:
        return f"unknown scale {scale!r}; choose from {', '.join(SCALES)}, {EXAMPLES}"
    if not least < most:
        return f"give the smaller number first, {EXAMPLES}"
    if scale == "log":
        if least <= 0:
            return "a logarithmic range begins above 0; use linear, or a larger number"
        values = _divide_by_ratio(least, most, number)
    elif scale == "linear":
        values = divide(least, most, number)
    else:
        values = step_through(least, most, number)
    return values or f"a range has 2 to {MAX_LISTED} values, {EXAMPLES}"


def _divide_by_ratio(least: float, most: float, count: float) -> list[Any] | None:
    """List ``count`` values with equal ratios, to three digits."""
    if type(count) is not int or not 2 <= count <= MAX_LISTED:
        return None
    ratio = math.log(most / least) / (count - 1)
    inner = [float(f"{least * math.exp(ratio * k):.3g}") for k in range(1, count - 1)]
    is_whole = type(least) is type(most) is int
    values = [least, *inner, most]
    return list(dict.fromkeys(map(round, values))) if is_whole and least >= 1 else values


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)

"""Text of numbers, times and sizes, as people read them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHORTEST_FINGERPRINT = 8  # characters; the service takes no fewer
BOUNDS = {"at least": "≥ ", "at most": "≤ ", None: ""}  # sign before a ratio that is only a bound
LARGE = 1e6  # from here on a number is written with a power of ten


def interval(value: Mapping[str, Any] | None) -> str | None:
    """Text of a mean, with its 95% interval if it has one."""
    return None if value is None else f"{decimal(value['mean'])}{bounds(value['ci95'])}"


def decimal(number: float, digits: int = 3) -> str:
    """Text of a value: 0.653, -12.500. A large number has one more digit than ``digits`` in all: 1.234e+100."""
    return f"{number:.{digits}f}" if abs(number) < LARGE else f"{number:.{digits + 1}g}"


def format_difference(number: float) -> str:
    """Text of a difference: +0.012, -0.500, +1.234e+100."""
    text = decimal(number)
    return text if text.startswith("-") else f"+{text}"


def bounds(ci95: Sequence[float] | None) -> str:
    """Text of an interval, to stand after its mean. Two limits that differ never look the same."""
    if not ci95:
        return ""
    low, high = ci95
    if low == high:
        return " (no spread)"
    written = ((decimal(low, digits), decimal(high, digits)) for digits in range(3, 17))
    first, last = next((both for both in written if both[0] != both[1]), (f"{low:g}", f"{high:g}"))
    return f" [{first}, {last}]"


def rank(number: int, limits: Sequence[int]) -> str:
    """Text of a rank, with the interval of the true rank if that holds more than one rank."""
    low, high = limits
    return f"{number} [{low}, {high}]" if low < high else f"{number}"


def explain_ranks(limits: Iterable[Sequence[int] | None]) -> str | None:
    """Explanation of the intervals that ``rank`` shows with ranks; None if there is no such interval."""
    shown = any(each and each[0] < each[1] for each in limits)
    return "in [brackets]: the lowest and the highest rank that the entry may truly have" if shown else None


def duration(seconds: float) -> str:
    """Text of a time in its two largest units: 14 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(number: int) -> str:
    """Text of a size, which is given in bytes: 202 MB, 15.8 GB."""
    return f"{number / 10**6:,.0f} MB" if number < 10**9 else f"{number / 10**9:,.1f} GB"


def age(seconds: float) -> str:
    """Text of a time in its largest unit: 14 s, 3 min, 2 h, 5 d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"  # the service's clock may be ahead of ours


def format_count(number: int, noun: str) -> str:
    """Text of a number with its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seeds(numbers: Sequence[int]) -> str:
    """Text of a list of seeds: ``seed 3`` or ``seeds 0, 1, 2``."""
    return ("seed " if len(numbers) == 1 else "seeds ") + ", ".join(map(str, numbers))


def describe_gaps(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sentences on the entries whose intervals do not hold."""
    return [
        f"Some seeds of {entry['name']} ({entry['fingerprint'][:8]}) did not take off; no interval of the mean holds"
        " for such values."
        for entry in entries
        if entry.get("gap")
    ]


def short_fingerprints(fingerprints: Iterable[str]) -> dict[str, str]:
    """Map each fingerprint to a short form: its first 8 characters, or more until no two short forms are the same."""
    full = set(fingerprints)
    length = SHORTEST_FINGERPRINT
    while len({fingerprint[:length] for fingerprint in full}) < len(full):
        length += 1
    return {fingerprint: fingerprint[:length] for fingerprint in full}

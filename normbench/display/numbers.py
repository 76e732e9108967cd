"""Numbers as people read them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SHORTEST_FINGERPRINT = 8  # characters that the service takes


def interval(value: Mapping[str, Any] | None) -> str | None:
    """A mean and, where there is one, its 95% interval."""
    return None if value is None else f"{value['mean']:.3f}{bounds(value['ci95'])}"


def bounds(ci95: Sequence[float] | None) -> str:
    """An interval behind its mean. Two limits that differ never look the same."""
    if not ci95:
        return ""
    low, high = ci95
    if low == high:
        return " (no spread)"
    written = ((f"{low:.{digits}f}", f"{high:.{digits}f}") for digits in range(3, 16))
    first, last = next((both for both in written if both[0] != both[1]), (f"{low:g}", f"{high:g}"))
    return f" [{first}, {last}]"


def duration(seconds: float) -> str:
    """A time in its two largest units: 14 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(number: int) -> str:
    """Size as text: 202 MB, 15.8 GB."""
    return f"{number / 10**6:,.0f} MB" if number < 10**9 else f"{number / 10**9:,.1f} GB"


def age(seconds: float) -> str:
    """A time in its largest unit: 14 s, 3 min, 2 h, 5 d."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"  # the service's clock may be ahead of ours


def counted(number: int, noun: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def seeds(numbers: Sequence[int]) -> str:
    """``seed 3`` or ``seeds 0, 1, 2``."""
    return ("seed " if len(numbers) == 1 else "seeds ") + ", ".join(map(str, numbers))


def short_fingerprints(fingerprints: Iterable[str]) -> dict[str, str]:
    """Each fingerprint with its first characters: so many that no two are the same, and that can be asked for."""
    full = set(fingerprints)
    length = SHORTEST_FINGERPRINT
    while len({fingerprint[:length] for fingerprint in full}) < len(full):
        length += 1
    return {fingerprint: fingerprint[:length] for fingerprint in full}

"""Numbers, times and names as text, in sentences and tables, on pages and in answers."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from normcore.spec.metric import is_share

DASH = "–"
NO_SPREAD = "no spread"
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
UNBROKEN = "\u00a0"
HALF = 0.5
LARGE = 1e6  # from here on a value is written with a power of ten
THIN = "\u202f"  # between the thousands; it does not break


def value(number: float | None, metric: str) -> str:
    """Value of a metric as text: 95.38%, or 1.3842."""
    if number is None:
        return DASH
    return f"{number * 100:.2f}%" if is_share(metric) else _four(number)


def level(number: float | None, metric: str) -> str:
    """Round value of a metric, such as a target, as text: 90%."""
    if number is None:
        return DASH
    return f"{number * 100:g}%" if is_share(metric) else f"{number:g}"


def interval(limits: Sequence[float | None] | None, metric: str) -> str:
    """Confidence interval of a value as text: 95.15 – 95.63. If the seeds do not differ, the text says so."""
    if limits is None:
        return "no interval"
    return NO_SPREAD if _is_one(limits) else span(limits, metric)


def interval_in_words(limits: Sequence[float | None], metric: str) -> str:
    """Interval in a sentence: 95% interval 95.15 – 95.63."""
    return NO_SPREAD if _is_one(limits) else f"95% interval {span(limits, metric)}"


def span(limits: Sequence[float | None], metric: str) -> str:
    """Range of values: 95.15 – 95.63. Different values never look the same: 94.995 – 95.005."""
    low, high = ("unknown" if limit is None else value(limit, metric).removesuffix("%") for limit in limits)
    if low == high and not _is_one(limits):
        scale = 100 if is_share(metric) else 1
        low, high = next(filter(_differ, _ever_longer([(limit or 0.0) * scale for limit in limits])), (low, high))
    return f"{low} {DASH} {high}"


def _ever_longer(numbers: Sequence[float]) -> Iterator[Sequence[str]]:
    """Format numbers repeatedly, each time with one more digit behind the point."""
    return ([f"{number:.{digits}f}" for number in numbers] for digits in range(3, 16))


def _differ(texts: Sequence[str]) -> bool:
    return len(set(texts)) > 1


def _is_one(limits: Sequence[float | None]) -> bool:
    return limits[0] is not None and limits[0] == limits[1]


def difference(number: float | None, metric: str, unit: str = "") -> str:
    """Signed difference as text: +1.30 points, or −0.0210 bits."""
    if number is None:
        return DASH
    text = (
        f"{number * 100:+.2f} points" if is_share(metric) else f"{_format_signed(number)}{f' {unit}' if unit else ''}"
    )
    return text.replace("-", "−")


def distance(number: float, metric: str, unit: str = "") -> str:
    """Difference without its sign, as text: 1.30 points."""
    return difference(abs(number), metric, unit).removeprefix("+")


def difference_interval(limits: Sequence[float] | None, metric: str) -> str:
    """Confidence interval of a difference as text: +1.02 – +1.61, or −0.12 – +0.30."""
    if limits is None:
        return "no interval"
    low, high = (difference(limit, metric).removesuffix(" points") for limit in limits)
    return f"{low} {DASH} {high}"


def distance_interval(limits: Sequence[float] | None, metric: str) -> str:
    """Confidence interval of a difference without its sign, as text: 1.02 – 1.61. If 0 lies inside, the lower limit
    keeps its sign: −0.12 – 0.30."""
    if limits is not None and limits[0] * limits[1] > 0:
        limits = sorted(map(abs, limits))
    return difference_interval(limits, metric).replace("+", "")


def steps(number: float | None) -> str:
    """Number of steps as text: 11 000. A median that lies between two steps: 32.5."""
    if number is None:
        return DASH
    places = 1 if abs(number) % 1 == HALF else 0
    return f"{number:,.{places}f}".replace(",", THIN)


def seconds(number: float | None) -> str:
    """Span of time as text: 6.1 s, 2 min 5 s, 1 h 12 min, 3 d 4 h."""
    if number is None:
        return DASH
    if number < 59.5:
        return f"{number:.1f} s" if number < 9.95 else f"{number:.0f} s"
    whole = round(number)
    for unit, size, next_unit, next_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // next_size
            return f"{whole // size} {unit}{f' {rest} {next_unit}' if rest else ''}"
    return f"{whole} s"


def age(number: float | None) -> str:
    """Time that has passed, in its largest unit: 12 s ago, 45 min ago, 3 d ago."""
    if number is None:
        return DASH
    told = seconds(number) if number >= 59.5 else f"{max(number, 0):.0f} s"
    return f"{' '.join(told.split(' ')[:2])} ago"


def ratio(number: float | None) -> str:
    """Ratio as text: ×3.2."""
    return DASH if number is None else f"×{number:.2f}" if number < 10 else f"×{number:.0f}"


def ratio_interval(limits: Sequence[float | None] | None) -> str:
    """Confidence interval of a ratio as text: 2.60 – 4.00."""
    if limits is None:
        return "no interval"
    return f" {DASH} ".join("unknown" if limit is None else ratio(limit).removeprefix("×") for limit in limits)


def time_interval(limits: Sequence[float | None] | None, by: Literal["steps", "seconds"]) -> str:
    """Confidence interval of a median time as text: 95% interval 9 500 – 12 000."""
    if limits is None:
        return "no interval"
    written = steps if by == "steps" else seconds
    if _is_one(limits):
        return NO_SPREAD
    low, high = ("unknown" if limit is None else written(limit) for limit in limits)
    return f"95% interval {low} {DASH} {high}"


def p_value(number: float | None) -> str:
    """p-value as text: p = 0.002, p < 0.001."""
    if number is None:
        return "not tested"
    text = "p < 0.001" if number < 0.001 else f"p = {number:.3f}" if number < 0.1 else f"p = {number:.2f}"
    return text.replace(" ", UNBROKEN)


def size(number: int) -> str:
    """Size as text: 512 B, 179 kB, 2.3 MB, 1,885 GB."""
    if number < 1000:
        return f"{number} B"
    if number >= 1e11:
        return f"{number / 1e9:,.0f} GB"
    for unit, of in (("GB", 1e9), ("MB", 1e6)):
        if number >= of * 0.9995:
            return f"{number / of:.1f} {unit}"
    return f"{number / 1000:.0f} kB"


def share(number: float | None) -> str:
    """Share in whole per cent, as text: 40%."""
    return DASH if number is None else f"{number * 100:.0f}%"


def count(number: int, one: str, many: str | None = None) -> str:
    """Count as text: 1 run, 12 runs, 2 entries."""
    plural = many or (f"{one[:-1]}ies" if one.endswith("y") else f"{one}s")
    return f"{steps(number)} {one if number == 1 else plural}"


def entries(measured: int, claims: int) -> str:
    """Count of a board's entries as text: 3 entries, 1 claim."""
    told = [count(measured, "entry")] if measured or not claims else []
    return ", ".join([*told, count(claims, "claim")] if claims else told)


def in_words(number: int) -> str:
    """Write a small number as a word: three. Larger numbers are written in digits."""
    return WORDS[number] if number < len(WORDS) else str(number)


def moment(at: datetime | None) -> str:
    """Time as text: 21 Nov 2026, 14:02 UTC."""
    return DASH if at is None else f"{at.astimezone(UTC):%d %b %Y, %H:%M} UTC".lstrip("0")


def listed(names: Sequence[str]) -> str:
    """Join names for a sentence: a, b and c."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def figure(number: float | None) -> str:
    """Number of any size, from an analysis, as text: 0.613, 4.2e-14."""
    if number is None:
        return DASH
    return f"{number:.3g}" if number == 0 or 1e-3 <= abs(number) < 1e4 else f"{number:.1e}"


def option(content: Any) -> str:
    """Value of a spec's option as text."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if content is None:
        return "none"
    if isinstance(content, Mapping):
        return ", ".join(f"{key}: {option(inner)}" for key, inner in content.items()) or DASH
    if isinstance(content, list | tuple):
        return ", ".join(map(option, content)) or DASH
    return f"{content:g}" if isinstance(content, float) else str(content)


def pair(text: str) -> tuple[str, str]:
    """Value and label of a form's choice; both are the same text."""
    return text, text


def rank_interval(limits: Sequence[int] | None) -> str:
    """Range of the ranks that an entry may truly have, as text: 2–3."""
    if limits is None:
        return ""
    low, high = limits
    return str(low) if low == high else f"{low}{DASH}{high}"


def _four(number: float) -> str:
    """Format a number with four digits behind the point if it is small, with fewer if it is large, and with a power of
    ten from a million on."""
    if abs(number) >= LARGE:
        return f"{number:.4g}"
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.2f}" if abs(number) < 1000 else steps(number)


def _format_signed(number: float) -> str:
    return f"{'-' if number < 0 else '+'}{_four(abs(number))}"

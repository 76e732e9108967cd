"""Numbers as a Markdown table, which can be copied into the README."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.number import Number

COLUMNS = ("number", "ours", "comparison", "", "ratio", "ratios of pairs", "target", "met")
MET = {True: "yes", False: "**no**", None: "–"}


def markdown(numbers: Sequence[Number]) -> str:
    """Markdown table of the numbers, with aligned columns."""
    rows = [COLUMNS, *map(_cells, numbers)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def plain(number: Number) -> dict[str, Any]:
    """Plain dictionary of a number, for JSON."""
    target = str(number.target) if number.target else None
    return {**asdict(number), "ratio": number.ratio, "target": target, "met": number.met}


def _cells(number: Number) -> tuple[str, ...]:
    return (
        number.name,
        f"{_short(number.ours)} {number.unit}",
        number.versus,
        "–" if number.theirs is None else f"{_short(number.theirs)} {number.unit}",
        "–" if number.ratio is None else f"{number.ratio:.3f}",
        "–" if number.pairs is None else f"{number.pairs[0]:.3f} … {number.pairs[1]:.3f}",
        str(number.target) if number.target else "",
        MET[number.met],
    )


def _short(value: float) -> str:
    """Text of a value with three significant digits; digits before the point are all kept."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

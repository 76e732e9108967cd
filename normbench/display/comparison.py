"""A comparison as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from normbench.answers import Comparison
from normbench.display.numbers import bounds, interval
from normbench.display.table import Column, Table

NOTE = "* the baseline; times are its own over the entry's, to the board's target"
BOUNDS = {"at least": "≥ ", "at most": "≤ ", None: ""}


def comparison(found: Comparison) -> Table:
    """Each entry beside the baseline: the difference of its test value, and how many times sooner it is there."""
    differs = any(entry["changes"] for entry in found["entries"])
    columns = [
        Column("entry"),
        Column("method"),
        *([Column("differs in", words=True)] if differs else []),
        Column("test [95%]"),
        Column("minus the baseline's [95%]"),
        Column("p", optional=4),
        Column("steps", optional=1),
        Column("a step", optional=2),
        Column("in all", optional=3),
    ]
    rows = [
        (
            entry["fingerprint"][:8] + ("*" if entry["fingerprint"] == found["baseline"] else ""),
            entry["method"],
            *([", ".join(f"{path}={value}" for path, value in entry["changes"].items()) or None] if differs else []),
            interval(entry["value"]),
            _difference(entry["difference"]),
            entry["difference"] and f"{entry['difference']['p_value']:.2g}",
            *_speedups(entry["speedup"]),
        )
        for entry in found["entries"]
    ]
    return Table(
        _title(found), columns, rows, "* the baseline; speed-ups: its time over the own, to the board's target"
    )


def _title(found: Comparison) -> str:
    board = f"{found['task']} ({found['profile']})"
    return f"{board}: {'higher' if found['direction'] == 'maximize' else 'lower'} is better"


def _difference(difference: Mapping[str, Any] | None) -> str | None:
    return None if difference is None else f"{difference['mean']:+.3f}{bounds(difference['ci95'])}"


def _speedups(split: Mapping[str, Any] | None) -> Sequence[str | None]:
    if split is None:
        return (None, None, None)
    bound = BOUNDS[split["bound"]]
    return tuple(
        None if (ratio := split[part]["ratio"]) is None else f"{bound}{ratio:.2f}x"
        for part in ("steps", "seconds_per_step", "total")
    )

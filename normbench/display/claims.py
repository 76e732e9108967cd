"""Submitted results as a table, and a single result as lines."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from normbench.answers import SubmittedResult
from normbench.display.numbers import bounds, format_count, format_difference, interval, seeds
from normbench.display.table import Column, Table, block

ENOUGH = 3  # fresh seeds needed to judge a claim, which needs two seeds of its own


def claims(results: Sequence[SubmittedResult]) -> Table:
    """Table of submitted results, one in each row, with the difference from this service's own seeds."""
    columns = (
        Column("id"),
        Column("task", words=True),
        Column("method", words=True),
        Column("state"),
        Column("claimed [95%]"),
        Column("seeds", optional=3),
        Column("minus ours [95%]", optional=1),
        Column("source", prose=True, optional=2),
    )
    rows = [
        (
            result["id"],
            f"{result['spec']['task']['name']} {result['spec']['task']['profile']}",
            result["name"],
            result["state"],
            interval(result["value"]),
            len(result["values"]),
            _difference(result),
            result["provenance"]["source"],
        )
        for result in results
    ]
    return Table("Submitted results, newest first", columns, rows)


def claim(result: SubmittedResult) -> Any:
    """Lines on a submitted result and its state."""
    lines = {
        result["metric"]: interval(result["value"]),
        "seeds": seeds([one["seed"] for one in result["values"]]),
        "fingerprint": result["fingerprint"],
        "minus ours": _difference(result) or _describe_missing_seeds(result),
    }
    return Group(Text(f"{result['id']}: {result['state']}"), block(lines))


def _difference(result: SubmittedResult) -> str | None:
    difference = result["difference"]
    if difference is None:
        return None
    return f"{format_difference(difference['mean'])}{bounds(difference['ci95'])}, p {difference['p_value']:.2g}"


def _describe_missing_seeds(result: SubmittedResult) -> str:
    """Phrase in place of the difference: how many seeds are missing before a claim can be judged."""
    left = ENOUGH - len(result["fresh_seeds"])
    return (
        f"unknown until {format_count(left, 'other seed')} ran here" if left > 0 else "unknown: the claim has one seed"
    )

"""Comparison as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from normbench.display.numbers import (
    BOUNDS,
    bounds,
    decimal,
    describe_gaps,
    explain_ranks,
    format_difference,
    interval,
    rank,
)
from normbench.display.table import Column, Table
from normbench.shown_answers import Comparison

NOTE = "* the baseline. Speed-up: the baseline's time to the target, divided by this entry's. Rank: among these entries"


def comparison(found: Comparison) -> Table:
    """Table of a comparison: each entry's difference from the baseline in test value, and its speed-ups."""
    columns = [
        Column("fingerprint"),
        Column("entry", words=True),
        Column("test [95%]", words=True),
        Column("minus the baseline's [95%]", words=True),
        Column("p", optional=5),
        Column("rank", optional=1),
        Column("steps", optional=2),
        Column("a step", optional=3),
        Column("in all", optional=4),
    ]
    rows = [
        (
            entry["fingerprint"][:8] + ("*" if entry["fingerprint"] == found["baseline"] else ""),
            entry["name"] + (", over budget" if entry["over_budget"] else ""),
            _value(entry),
            _difference(entry["difference"], entry["outcome"]),
            entry["difference"] and f"{entry['difference']['p_holm']:.2g}",
            _rank(entry),
            *_speedups(entry["speedup"]),
        )
        for entry in found["entries"]
    ]
    of_interval = explain_ranks(entry["rank_ci"] for entry in found["entries"] if _rank(entry))
    note = "; ".join(filter(None, (NOTE, of_interval)))
    lines = [f"{note}.", _correction(found), *_others(found), *describe_gaps(found["entries"])]
    return Table(_title(found), columns, rows, "\n".join(lines))


def _title(found: Comparison) -> str:
    board = f"{found['task']} ({found['profile']})"
    return f"{board}: {'higher' if found['direction'] == 'maximize' else 'lower'} is better"


def _correction(found: Comparison) -> str:
    """Sentence on the correction of the p-values. The table shows only some of the tests that were corrected."""
    entries = sum(not entry["over_budget"] for entry in found["entries"])
    pairs = entries * (entries - 1) // 2
    if pairs <= 1:
        return (
            "p: of one pair, not corrected"
            if len(found["entries"]) == 2
            else "p: after Holm's correction for all pairs"
        )
    return (
        f"p: after Holm's correction for all {pairs} pairs of {entries} entries; the table has the {entries - 1} with"
        " the baseline"
    )


def _others(found: Comparison) -> list[str]:
    """Sentence on the pairs that do not include the baseline, and in which one entry is shown to be better."""
    named = {entry["fingerprint"]: entry["name"] for entry in found["entries"]}
    others = [entry for entry in found["entries"] if entry["fingerprint"] != found["baseline"]]
    told = [
        f"{entry['name']} is better than {named[other]} (p {p:.2g})"
        for entry in others
        for other, p in entry["above"].items()
        if other != found["baseline"]
    ]
    if len(others) < 2:
        return []
    return [f"of the others: {'; '.join(told)}" if told else "of the others no difference is shown"]


def _rank(entry: Mapping[str, Any]) -> str | None:
    """Rank of an entry among the entries compared; None if it is over budget."""
    return None if entry["rank"] is None or entry["rank_ci"] is None else rank(entry["rank"], entry["rank_ci"])


def _value(entry: Mapping[str, Any]) -> str | None:
    """Mean of the seeds that converged, the number of seeds that diverged, and the score if it is not the mean."""
    value, score = entry["value"], entry["score"]
    parts = [interval(value)] if value else []
    if entry["n_diverged"]:
        parts.append(f"{entry['n_diverged']} of {len(entry['seeds'])} diverged")
    if score is not None and (value is None or score != value["mean"]):
        parts.append(f"score {decimal(score)}")
    return ", ".join(filter(None, parts)) or None


def _difference(difference: Mapping[str, Any] | None, outcome: str | None) -> str | None:
    return (
        outcome
        if difference is None
        else f"{format_difference(difference['mean'])}{bounds(difference['ci95'])}, {outcome}"
    )


def _speedups(split: Mapping[str, Any] | None) -> Sequence[str | None]:
    if split is None:
        return (None, None, None)
    bound = BOUNDS[split["bound"]]
    return tuple(
        None if (ratio := split[part]["ratio"]) is None else f"{bound}{ratio:.2f}x"
        for part in ("steps", "seconds_per_step", "total")
    )

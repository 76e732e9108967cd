"""Overall leaderboard as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from normbench.display.table import Column, Table
from normbench.shown_answers import Overall


def overall(found: Overall) -> Table:
    """Table with one method in each row: its time to each task's target, divided by the fastest method's time."""
    tasks = [task["task"] for task in found["tasks"]]
    columns = [
        Column("#"),
        Column("method"),
        Column("area"),
        Column("fastest", optional=1),
        *(Column(task, optional=2) for task in tasks),
    ]
    rows = [
        (
            method["rank"],
            method["method"],
            f"{method['area']:.3f}",
            f"{method['fastest']} of {len(tasks)}",
            *(_ratio(method, task) for task in tasks),
        )
        for method in found["methods"]
    ]
    return Table(_title(found), columns, rows, "\n".join(_notes(found)))


def _title(found: Overall) -> str:
    by = "updates" if found["rank_by"] == "steps_to_target" else "seconds"
    of = f"{by} to the target, divided by the fastest method's"
    return f"all tasks ({found['profile']}): {of}; area: of the profile up to {found['widest']:g} times the fastest"


def _ratio(method: Mapping[str, Any], task: str) -> str | None:
    if task in method["untried"]:
        return "not tried"
    ratio = method["ratios"][task]
    return None if ratio is None else f"{ratio:.2f}x"


def _notes(found: Overall) -> Iterator[str]:
    if found["methods"]:
        yield found["caution"]
    for first, second in found["flips"]:
        yield f"Compared as a pair, {second} ranks before {first}."
    reasons: dict[str, list[str]] = {}
    for task in found["left_out"]:
        reasons.setdefault(task["reason"], []).append(task["task"])
    for reason, tasks in reasons.items():
        yield f"Left out ({reason}): {', '.join(tasks)}."

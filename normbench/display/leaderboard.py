"""A leaderboard as a table."""

from collections.abc import Mapping
from typing import Any

from normbench.answers import Leaderboard
from normbench.display.numbers import interval
from normbench.display.table import Column, Table


def leaderboard(board: Leaderboard) -> Table:
    """Ranked entries with their intervals and times to the target."""
    unit = f", {board['unit']}" if board["unit"] else ""
    differs = any(_differs(entry) for entry in board["entries"])
    kernels = {entry["kernel"] for entry in board["entries"]} - {None}
    marked = len(kernels) > 1 or "mixed" in kernels  # so that nobody compares their times
    columns = [
        Column("#"),
        Column("method"),
        *([Column("differs in", words=True)] if differs else []),
        Column(f"test {board['metric']}{unit} [95%]"),
        Column("seeds", optional=2),
        Column("steps", optional=3),
        Column("time", optional=4),
        *([Column("kernel", optional=4)] if marked else []),
        Column(f"vs {board['baseline']}", optional=1),
    ]
    rows = [
        (
            entry["rank"],
            entry["method"],
            *([_differs(entry)] if differs else []),
            _value(entry, board["metric"]),
            _seeds(entry),
            _time(entry["steps_to_target"], "{:g}"),
            _time(entry["seconds_to_target"], "{:.1f} s"),
            *([entry["kernel"]] if marked else []),
            _speedup(entry["speedup"]),
        )
        for entry in board["entries"]
    ]
    return Table(_title(board), columns, rows, board["problem"]["note"])


def _title(board: Leaderboard) -> str:
    better = "higher is better" if board["direction"] == "maximize" else "lower is better"
    target = f"; steps and time to {board['target']:g} on validation data" if board["target"] is not None else ""
    own = board["problem"]["id"] == board["problems"][0]["id"]
    problem = "" if own else f", {board['problem']['title']}"
    return f"{board['task']} ({board['profile']}{problem}): {better}{target}"


def _differs(entry: Mapping[str, Any]) -> str | None:
    """What an entry is, besides its method: whose number, or in what it departs from the profile."""
    if entry["citation"]:
        quoted = f", quoted from {entry['origin']}" if entry["origin"] else ""
        return f"{entry['model']}: {entry['citation']}{quoted}"
    changes = [f"{path}={value}" for path, value in entry["changes"].items()]
    return ", ".join([*changes, *(["over budget"] if entry["over_budget"] else [])]) or None


def _value(entry: Mapping[str, Any], metric: str) -> str | None:
    """The test value, or what a paper has of validation data in its place."""
    if entry["split"] == "valid" and metric in entry["values"]:
        return f"{interval(entry['values'][metric])} in validation"
    return interval(entry["value"])


def _seeds(entry: Mapping[str, Any]) -> str | None:
    if entry["source"] == "published":
        return None
    return f"{entry['n_seeds']}" + (f" ({entry['n_diverged']} diverged)" if entry["n_diverged"] else "")


def _time(time: Mapping[str, Any] | None, form: str) -> str | None:
    return form.format(time["median"]) if time and time["median"] is not None else None


def _speedup(speedup: Mapping[str, Any] | None) -> str | None:
    return f"{speedup['steps']:.1f}x" if speedup and speedup["steps"] else None

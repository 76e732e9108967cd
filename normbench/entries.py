"""Entries of a comparison that a caller names by their methods."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from normbench.errors import Invalid
from normbench.shown_answers import Leaderboard

if TYPE_CHECKING:
    from normbench.client import Client

FINGERPRINT = r"[0-9a-f]{8,64}"


def check_distinct(entries: Sequence[str]) -> None:
    """Check that no entry is named twice.

    Raises:
        Invalid: a method or fingerprint is given twice.
    """
    twice = next((name for k, name in enumerate(entries) if name in entries[:k]), None)
    if twice is not None:
        raise Invalid(f"method or fingerprint '{twice}' is given twice; give two or more different entries")


def best_entries(
    client: "Client",
    entries: Sequence[str],
    baseline: str | None,
    task: str | None,
    profile: str | None,
    problem: str | None,
) -> dict[str, str]:
    """Find the best measured entry on a board of each method in ``entries`` and ``baseline``.

    Returns:
        The fingerprints of these entries, by method. Names that are fingerprints are left out.

    Raises:
        Invalid: ``task`` is None, or a method has no entry on the board.
    """
    named = [*entries, *([] if baseline is None else [baseline])]
    methods = [name for name in named if not re.fullmatch(FINGERPRINT, name)]
    if not methods:
        return {}
    command = shlex.join(["normbench", "compare", *entries, *([] if baseline is None else ["--baseline", baseline])])
    if task is None:
        raise Invalid(
            f"'{methods[0]}' is not a fingerprint, which has 8 or more of 0-9 and a-f; if it is a method, name the task"
            f" of its board (`normbench tasks` lists the tasks):\n  {command} --task TASK"
        )
    board = client.leaderboard(task, profile=profile, problem=problem, entries="best")
    found = {e["method"]: e["fingerprint"] for e in board["entries"] if e["source"] == "measured" and e["fingerprint"]}
    if not found:
        raise Invalid(_no_entries(client, board, f"{command} --task {task}"))
    absent = [method for method in methods if method not in found]
    if absent:
        there = ", ".join(f"'{method}'" for method in found)
        raise Invalid(f"'{absent[0]}' has no entry at {task} {board['profile']}; methods with entries: {there}")
    return {method: found[method] for method in methods}


def _no_entries(client: "Client", board: Leaderboard, command: str) -> str:
    """Message on a board without measured entries, with the command for each board of the task that has entries."""
    own = board["problem"]["id"] == board["problems"][0]["id"]
    place = f"{board['task']} {board['profile']}" + ("" if own else f" ({board['problem']['title']})")
    here = (board["profile"], board["problem"]["id"])
    others = [
        f"  {command}{board_options(found)}"
        for found in client.leaderboards()
        if found["task"] == board["task"] and found["n_entries"] and (found["profile"], found["problem"]["id"]) != here
    ]
    elsewhere = "; there are some here:\n" + "\n".join(others) if others else ""
    return f"there are no {'measured ' if board['entries'] else ''}entries at {place}{elsewhere}"


def board_options(found: Mapping[str, Any]) -> str:
    """Options that name a board of a task. The profile's own problem needs no option."""
    from normbench.display.report_card import OWN_PROBLEM  # here: only messages and tables need rich

    problem = found["problem"]
    chosen = "" if problem["title"] == OWN_PROBLEM else f" --problem {problem['id']}    # {problem['title']}"
    return f" --profile {found['profile']}{chosen}"

"""Command that shows leaderboards."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer

from normbench.cli import command, options
from normbench.cli.command import Json
from normbench.client import Client
from normbench.display.leaderboard import leaderboard as display
from normbench.display.overall import overall as display_overall
from normbench.entries import board_options
from normbench.errors import Invalid, NormbenchError
from normbench.shown_answers import Leaderboard

OVERALL = "overall"
OF_A_TASK = {
    "baseline": "baseline",
    "problem": "problem",
    "best": "entries",
    "as-of": "as_of",
    "code": "code",
    "published": "published",
    "over-budget": "over_budget",
}


def leaderboard(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task (`normbench tasks` lists them), or: overall.")],
    profile: options.Profile = None,
    rank_by: options.RankBy = None,
    baseline: options.Baseline = None,
    problem: options.Problem = None,
    published: options.Published = False,
    over_budget: options.OverBudget = False,
    best: Annotated[
        bool, typer.Option("--best", help="Show one entry of each method: its best validation value.")
    ] = False,
    as_of: options.AsOf = None,
    code: options.Code = None,
    as_json: Json = False,
) -> None:
    """Show the leaderboard of a task, or of all tasks: which method wins."""
    client = command.client()
    asked: dict[str, Any] = {"baseline": baseline, "problem": problem}
    asked |= {"entries": "best" if best else None, "as_of": as_of, "code": code}
    if task == OVERALL:
        _check_of_a_task({**asked, "published": published or None, "over_budget": over_budget or None})
        found = client.overall(profile=profile, rank_by=cast(Any, rank_by))
        command.show(as_json, found, display_overall(found))
        return
    asked |= {"profile": profile, "rank_by": rank_by}
    try:
        board = client.leaderboard(task, published=published, over_budget=over_budget, **asked)
    except Invalid as refusal:
        raise Invalid(f"{refusal}{_place_of(client, task, problem, refusal)}") from None
    is_shown = board["entries"] or board.get("set_aside")
    command.show(as_json, board, *([display(board)] if is_shown else []))
    if not is_shown:
        command.note(_describe_empty_board(client, board))
    for other in board["problems"] if board["entries"] else ():
        if other["id"] != board["problem"]["id"]:
            command.note(f"another problem, with a board of its own: --problem {other['id']} ({other['title']})")
    if published and all(entry["source"] != "published" for entry in board["entries"]):
        command.note(
            f"no paper has published numbers for this problem of {task} at {board['profile']}; papers' numbers are on"
            " the board of the problem and profile that they were measured on; try --profile paper"
        )


def _check_of_a_task(options: Mapping[str, Any]) -> None:
    """Check that no option is given which only the board of one task has.

    Args:
        options: values by the names in ``OF_A_TASK``.

    Raises:
        NormbenchError: such an option is given.
    """
    given = [f"--{name}" for name, value in OF_A_TASK.items() if options[value] is not None]
    if given:
        raise NormbenchError(f"{', '.join(given)}: only for the board of one task; leave it out for overall")


def _describe_empty_board(client: Client, board: Leaderboard) -> str:
    """Message on an empty board, with the commands that show the task's boards that have entries."""
    task, profile, own = board["task"], board["profile"], board["problems"][0]["id"]
    title = "" if board["problem"]["id"] == own else f" ({board['problem']['title']})"
    others = [found for found in client.leaderboards() if found["task"] == task]
    lines = [f"  normbench leaderboard {task}{board_options(found)}" for found in others]
    elsewhere = "; there are some here:\n" + "\n".join(lines) if lines else ""
    return f"{task} has no entries at {profile}{title}{elsewhere}"


def _place_of(client: Client, task: str, problem: str | None, refusal: Invalid) -> str:
    """Text that names the boards of a refused problem; empty if the problem has no board with entries."""
    if all(error["type"] != "unknown_problem" for error in refusal.errors):
        return ""
    boards = [found for found in client.leaderboards() if found["problem"]["id"] == problem]
    boards = [found for found in boards if found["task"] == task] or boards
    lines = [f"  normbench leaderboard {found['task']}{board_options(found)}" for found in boards]
    return f"\n'{problem}' is a problem of another board:\n" + "\n".join(lines) if lines else ""

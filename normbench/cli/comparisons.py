"""Command that compares entries of a board."""

from typing import Annotated

import typer

from normbench.cli import command
from normbench.cli.command import Json
from normbench.display.comparison import comparison as display


def compare(
    entries: Annotated[
        list[str],
        typer.Argument(
            metavar="ENTRY...",
            help="Two or more entries of one board: fingerprints (8 characters are enough), or methods of --task.",
        ),
    ],
    task: Annotated[
        str | None, typer.Option(help="For methods: their task. A method stands for its best entry.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="For methods: paper, small or smoke.")] = None,
    problem: Annotated[str | None, typer.Option(help="For methods: id of a problem; else the profile's own.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The entry that the others are compared with.")] = None,
    series: Annotated[str | None, typer.Option(help="The series whose curves --json has, such as train.loss.")] = None,
    as_json: Json = False,
) -> None:
    """Compare entries of a board: their differences, p-values and speed-ups.

    `normbench leaderboard TASK` shows fingerprints. With --task, entries may be
    named by their methods.
    """
    found = command.client().compare(
        *entries, baseline=baseline, series=series, task=task, profile=profile, problem=problem
    )
    command.show(as_json, found, display(found))

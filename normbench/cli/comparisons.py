"""Entries side by side."""

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
            help="Two or more of one board: fingerprints, of which 8 characters are enough, or methods of --task.",
        ),
    ],
    task: Annotated[str | None, typer.Option(help="Of methods: the task; each stands for its best entry.")] = None,
    profile: Annotated[str | None, typer.Option(help="Of methods: paper, small or smoke.")] = None,
    problem: Annotated[str | None, typer.Option(help="Of methods: a problem; else the profile's own.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The one that others are compared with.")] = None,
    series: Annotated[str | None, typer.Option(help="Whose curves, such as train.loss.")] = None,
    as_json: Json = False,
) -> None:
    """Show how far entries are apart, how sure that is, and which is sooner there.

    `normbench leaderboard TASK` shows fingerprints; methods are taken with --task.
    """
    found = command.client().compare(
        *entries, baseline=baseline, series=series, task=task, profile=profile, problem=problem
    )
    command.show(as_json, found, display(found))

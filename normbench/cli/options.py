"""Options that several commands share."""

from typing import Annotated

import typer

Profile = Annotated[str | None, typer.Option(help="paper, small or smoke.")]
RankBy = Annotated[str | None, typer.Option(help="metric, steps_to_target or seconds_to_target.")]
Baseline = Annotated[str | None, typer.Option(help="The method that speed-ups are measured against.")]
Problem = Annotated[str | None, typer.Option(help="Id of one of the board's problems; else the profile's own.")]
Published = Annotated[bool, typer.Option("--published", help="Rank the papers' numbers, too.")]
OverBudget = Annotated[bool, typer.Option("--over-budget", help="Rank entries that are over the board's budget, too.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="MOMENT", help="The board at this time, such as 2026-11-25T12:00:00Z.")
]
Code = Annotated[str | None, typer.Option(metavar="all", help="all: also show runs and entries of older code.")]

OfTask = Annotated[str | None, typer.Option(help="Only of this task.")]
OfProfile = Annotated[str | None, typer.Option(help="Only of this profile: paper, small or smoke.")]
WithMethod = Annotated[str | None, typer.Option(help="Only with this method.")]
InState = Annotated[str | None, typer.Option(help="queued, running, succeeded, failed or cancelled.")]
WithLabels = Annotated[list[str] | None, typer.Option(metavar="KEY:VALUE", help="Repeat it for several labels.")]

"""Entries side by side."""

from typing import Annotated

import typer

from normbench.cli import command
from normbench.cli.command import Json
from normbench.display.comparison import comparison as display


def compare(
    fingerprints: Annotated[
        list[str],
        typer.Argument(metavar="FINGERPRINT...", help="Two or more of one board; 8 characters of each are enough."),
    ],
    baseline: Annotated[str | None, typer.Option(help="The one that others are compared with.")] = None,
    series: Annotated[str | None, typer.Option(help="Whose curves, such as train.loss.")] = None,
    as_json: Json = False,
) -> None:
    """Show how far entries are apart, how sure that is, and which is sooner there."""
    found = command.client().compare(*fingerprints, baseline=baseline, series=series)
    command.show(as_json, found, display(found))

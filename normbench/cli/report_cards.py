"""Commands of report cards."""

from typing import Annotated

import typer

from normbench.cli import command, watching
from normbench.cli.command import FAILED, Json
from normbench.display.report_card import shown


def report_card(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="`normbench methods` shows them.")],
    measure: Annotated[
        bool, typer.Option(help="Submit the analyses that are missing and wait for them; otherwise show what there is.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Show what has been measured of a method: invariances, gradient flow, cost, smallest batch, standings."""
    client = command.client()
    card = client.report_card(method)
    if measure and (card["missing"] or card["pending"]):
        submitted = [client.submit(spec)["id"] for spec in card["missing"]]
        for experiment in watching.ended_with_progress(client, [*card["pending"], *submitted], as_json):
            watching.complain(experiment)
        card = client.report_card(method)
    command.show(as_json, card, *shown(card))
    if measure and card["missing"]:
        raise typer.Exit(FAILED)

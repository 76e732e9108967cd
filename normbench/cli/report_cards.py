"""Command that shows report cards."""

from typing import Annotated

import typer

from normbench.cli import command, watching
from normbench.cli.command import FAILED, Json
from normbench.display.report_card import render_report_card


def report_card(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A method; `normbench methods` lists them.")],
    measure: Annotated[
        bool, typer.Option(help="Submit missing analyses and wait for them, or only show what is known.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Show the report card of a method: invariances, gradient flow, cost, smallest batch, standings.

    Exit status: 1 if an analysis failed or was cancelled. With --no-measure: 0,
    even if analyses are missing.
    """
    client = command.client()
    card = client.report_card(method)
    if measure and (card["missing"] or card["pending"]):
        submitted = [client.submit(spec)["id"] for spec in card["missing"]]
        ids = [*card["pending"], *submitted]
        for experiment in watching.watch_to_end(client, ids, as_json, f"Report card of {method}"):
            watching.complain(experiment)
        card = client.report_card(method)
    command.show(as_json, card, *render_report_card(card))
    if measure and card["missing"]:
        raise typer.Exit(FAILED)

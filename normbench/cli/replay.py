"""Command that runs a run again, and compares the numbers of the two runs."""

from typing import Annotated

import typer

from normbench.cli import command, watching
from normbench.cli.command import DIFFERS, FAILED, Json
from normbench.display.replay import render_replay as display


def replay(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run that has succeeded, run_…")],
    as_json: Json = False,
) -> None:
    """Run a run again with the same spec and seed, and compare all curves point by point.

    Differences of code, packages, data and machine are shown, too. On a board,
    the seed counts once.

    Exit status: 0 if all numbers are identical, 3 if some differ, 1 if the
    second run did not succeed.
    """
    client = command.client()
    submitted = client.submit_replay(command.run_id(run_id))
    typer.echo(f"{submitted['id']}  repeats {run_id}", err=as_json)
    [ended] = watching.watch_to_end(client, [submitted["id"]], as_json)
    watching.complain(ended)
    if ended["state"] != "succeeded":
        raise typer.Exit(FAILED)
    found = client.compare_replay(run_id, ended["runs"][0]["id"])
    command.show(as_json, found, display(found))
    if not found["identical"]:
        raise typer.Exit(DIFFERS)

"""``normbench``: what users do, over HTTP, and what operators do on their own machine. One module a group of commands.

To add a command, write it in the module of its group and name it in ``COMMANDS``; ``command.guarded`` turns what was
foreseen to go wrong into a message.
"""

import logging
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from normbench.cli import (
    catalogue,
    claims,
    comparisons,
    data,
    demo,
    experiments,
    export,
    keys,
    leaderboards,
    logs,
    pages,
    replay,
    report_cards,
    servers,
    sweeps,
    watching,
)
from normbench.cli.command import guarded

COMMANDS = (
    servers.up,
    demo.demo,
    experiments.submit,
    sweeps.sweep,
    watching.watch,
    experiments.status,
    logs.logs,
    experiments.cancel,
    experiments.retry,
    leaderboards.leaderboard,
    comparisons.compare,
    claims.claim,
    claims.claims,
    claims.withdraw,
    replay.replay,
    report_cards.report_card,
    catalogue.tasks,
    catalogue.methods,
    servers.api,
    servers.worker,
    servers.scheduler,
    servers.migrate,
)

app = typer.Typer(name="normbench", no_args_is_help=True, add_completion=False)
for function in COMMANDS:
    app.command()(guarded(function))
app.command("open")(guarded(pages.open_page))
app.add_typer(export.app, name="export")
app.add_typer(keys.app, name="keys")
app.add_typer(data.app, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"normbench {version('normbench')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Benchmark normalization in recurrent networks.

    NORMBENCH_URL names the service (default http://127.0.0.1:8000; NORMBENCH_PORT is another port of this machine),
    NORMBENCH_API_KEY holds your key where it asks for one.
    """


def main() -> None:
    """The command ``normbench``."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(app())

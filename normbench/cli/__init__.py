"""Command line ``normbench``: commands of users, over HTTP, and of operators, on their own machine.

Each group of commands has one module. To add a command, write it in the module of its group and name it in
``COMMANDS``. ``command.catch_errors`` turns the errors of the client into messages.
"""

import gc
import logging
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from normbench.cli import (
    catalogue,
    citations,
    claims,
    comparisons,
    data,
    demo,
    experiments,
    export,
    kernels,
    keys,
    leaderboards,
    logs,
    pages,
    publish,
    replay,
    report_cards,
    servers,
    sweeps,
    watching,
)
from normbench.cli.command import catch_errors

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
    citations.cite,
    publish.publish,
    catalogue.tasks,
    catalogue.methods,
    servers.api,
    servers.worker,
    kernels.kernels,
    servers.scheduler,
    servers.migrate,
)

app = typer.Typer(name="normbench", no_args_is_help=True, add_completion=False)
for function in COMMANDS:
    app.command()(catch_errors(function))
app.command("open")(catch_errors(pages.open_page))
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

    NORMBENCH_URL is the address of the service. Without it, the service is on
    this machine, at port NORMBENCH_PORT or 8000. NORMBENCH_API_KEY is your key,
    if the service asks for a key.
    """


def main() -> None:
    """Run the command ``normbench``.

    Garbage is collected rarely. Services import their modules after this, which makes no garbage; the searches for it
    took a third of their start.
    """
    gc.set_threshold(50_000)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(app())

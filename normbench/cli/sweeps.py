"""Command that submits sweeps, and the parts of other commands that are about sweeps."""

from pathlib import Path
from typing import Annotated

import typer

from normbench.answers import ENDED, Importance
from normbench.cli import command
from normbench.cli.command import DIVERGED, FAILED, INTERRUPTED, Json, add_file_name, read, standard_input_or
from normbench.client import Client
from normbench.display import progress
from normbench.display import sweeps as display
from normbench.display.queue import Queue
from normbench.errors import NormbenchError
from normbench.shown_answers import Sweep


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A YAML or JSON file; - is standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until every run has ended.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan: experiments, runs, time. Submit nothing.")
    ] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submitting the file again with this key finds the same sweep.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Submit a sweep: a spec with values for some of its fields. Each combination is one experiment; all or none.

    With --wait, the cells are shown in the end. Exit status: 1 if a run failed
    or was cancelled, 2 if all seeds of an experiment diverged.
    """
    if dry_run and wait:
        raise NormbenchError("--dry-run submits nothing that --wait could wait for; leave one of them out")
    client, content = command.client(), read(standard_input_or(file))
    try:
        if dry_run:
            plan = client.dry_run_sweep(content)
            command.show(as_json, plan, display.plan(plan))
            return
        submitted = client.submit_sweep(content, idempotency_key=idempotency_key)
    except NormbenchError as error:
        raise add_file_name(file, error) from None
    _tell(client, submitted, wait, as_json)
    if wait:
        wait_for(client, submitted["id"], as_json)


def _tell(client: Client, submitted: Sweep, wait: bool, as_json: bool) -> None:
    """Print a sweep's id at once; to standard error with ``--wait --json``, whose answer comes in the end."""
    reused = f", {submitted['reused_runs']:,} of them measured already" if submitted["reused_runs"] else ""
    told = f"{display.title(submitted)}, {submitted['n_runs']:,} runs{reused}"
    if wait:
        typer.echo(told, err=as_json)
        return
    command.say(as_json, submitted, f"{told}; normbench watch {submitted['id']}")
    missing = Queue(client).no_worker(submitted["spec"].get("device", "auto"))
    if missing and submitted["state"] not in ENDED:
        command.note(missing)


def wait_for(client: Client, sweep_id: str, as_json: bool) -> None:
    """Show the progress of a sweep, then its cells.

    Raises:
        typer.Exit: a run failed or was cancelled, all seeds of an experiment diverged, or somebody pressed Ctrl-C.
    """
    try:
        ended = progress.watch_sweep(client, sweep_id, command.console(err=as_json))
    except KeyboardInterrupt:
        command.note("the training goes on")
        typer.echo(f"  come back to it:  normbench watch {sweep_id}", err=True)
        typer.echo(f"  stop it:          normbench cancel {sweep_id}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    command.show(as_json, ended, display.sweep(ended, _importance_of(client, ended)))
    for cell, name in zip(ended["cells"], display.names_of(ended), strict=True):
        if cell["state"] != "succeeded":
            id = cell["experiment_id"]
            command.complain(f"{name} {cell['state']}; normbench status {id}")
    lost = display.diverged_cells(ended)
    for cell, name in zip(ended["cells"], display.names_of(ended), strict=True):
        if cell in lost:
            command.complain(f"{name} diverged; normbench status {cell['experiment_id']}")
    if ended["state"] != "succeeded":
        raise typer.Exit(FAILED)
    if lost:
        raise typer.Exit(DIVERGED)


def status(client: Client, sweep_id: str, as_json: bool) -> None:
    """Show a sweep's cells."""
    found = client.sweep(sweep_id)
    command.show(as_json, found, display.sweep(found, _importance_of(client, found)))


def _importance_of(client: Client, found: Sweep) -> Importance | None:
    """Importance of a sweep's fields; None if it cannot have any."""
    if not found["metric"] or len(found["grid"]) + len(found["random"]) < 2:
        return None
    return client.sweep_importance(found["id"])

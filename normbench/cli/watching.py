"""Command that watches experiments until they have ended, and its parts that other commands use."""

import json
from typing import Annotated

import typer

from normbench.cli import command, sweeps
from normbench.cli.command import DIVERGED, FAILED, INTERRUPTED, Json
from normbench.client import Client
from normbench.display import progress
from normbench.display.experiments import divergence_step, has_diverged, has_diverged_altogether
from normbench.display.findings import findings
from normbench.errors import NormbenchError
from normbench.shown_answers import Experiment


def watch(
    experiment_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Experiments, exp_…, or one sweep, swp_…")],
    as_json: Json = False,
) -> None:
    """Show the progress of experiments or of a sweep until every run has ended.

    Ctrl-C stops the watching, not the training. With --json: one line of JSON
    for each experiment.

    Exit status: 1 if a run failed or was cancelled, 2 if all seeds of an
    experiment diverged.
    """
    if any(map(command.is_sweep, experiment_ids)):
        if len(experiment_ids) > 1:
            raise NormbenchError("a sweep is watched alone; give only the ID of the sweep")
        sweeps.wait_for(command.client(), experiment_ids[0], as_json)
        return
    wait(command.client(), [command.experiment_id(id) for id in experiment_ids], as_json)


def wait(client: Client, experiment_ids: list[str], as_json: bool) -> None:
    """Show the progress of experiments, then their findings and the runs that did not succeed.

    Raises:
        typer.Exit: a run failed or was cancelled, all seeds of an experiment diverged, or somebody pressed Ctrl-C.
    """
    ended = watch_to_end(client, experiment_ids, as_json)
    for experiment in ended:
        if as_json:
            typer.echo(json.dumps(experiment))
        else:
            _show_findings(experiment)
        complain(experiment)
    if any(experiment["state"] != "succeeded" for experiment in ended):
        raise typer.Exit(FAILED)
    if any(map(has_diverged_altogether, ended)):
        raise typer.Exit(DIVERGED)


def watch_to_end(
    client: Client, experiment_ids: list[str], as_json: bool, analyses: str | None = None
) -> list[Experiment]:
    """Show progress until the experiments have ended, and return the experiments.

    Args:
        analyses: title of one bar for all experiments, if they are analyses. None: each experiment has a bar.

    Raises:
        typer.Exit: somebody pressed Ctrl-C. How to come back has been printed.
    """
    console = command.console(err=as_json)
    try:
        if analyses is not None:
            return progress.watch_analyses(client, analyses, experiment_ids, console)
        return progress.watch(client, experiment_ids, console)
    except KeyboardInterrupt:
        ids = " ".join(experiment_ids)
        command.note("the training goes on")
        typer.echo(f"  come back to it:  normbench watch {ids}", err=True)
        for id in experiment_ids:
            typer.echo(f"  stop it:          normbench cancel {id}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def complain(experiment: Experiment) -> None:
    """Print to standard error which runs of an experiment did not succeed or diverged, and why."""
    for run in experiment["runs"]:
        if run["state"] == "failed":
            command.complain(f"{run['id']} (seed {run['seed']}) failed: {run['error']}")
        elif run["state"] == "cancelled":
            command.complain(f"{run['id']} (seed {run['seed']}) was cancelled")
        elif has_diverged(run):
            command.complain(f"{run['id']} (seed {run['seed']}) diverged at step {divergence_step(run)}")


def _show_findings(experiment: Experiment) -> None:
    for run in experiment["runs"]:
        if run["result"] and "findings" in run["result"]:
            command.console().print(findings(run))

"""Commands that submit, list, cancel and retry experiments."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from normbench.answers import ENDED, State
from normbench.cli import command, options, watching
from normbench.cli import sweeps as of_sweeps
from normbench.cli.command import Json
from normbench.client import Client
from normbench.display import experiments as display
from normbench.display.numbers import seeds
from normbench.display.queue import Queue
from normbench.display.sweeps import sweeps as display_sweeps
from normbench.errors import Invalid, NormbenchError, Refused, Unauthorized, Unavailable
from normbench.request_parts import MAX_ON_A_PAGE
from normbench.shown_answers import Experiment, Plan, Sweep

ExperimentId = Annotated[str, typer.Argument(metavar="ID", help="An experiment, exp_…, or a sweep, swp_…")]


def submit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="YAML or JSON files; - is standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until every run has ended.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan: runs, time, memory. Submit nothing.")
    ] = False,
    only_new: Annotated[bool, typer.Option("--only-new", help="Leave out seeds that are measured already.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submitting the file again with this key finds the same experiment.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Submit experiments, one from each file. If a file is wrong, nothing is submitted.

    With --json: one line of JSON for each file. With --json and --only-new, a
    file whose seeds are all measured already gives its plan.

    Exit status with --wait: 1 if a run failed or was cancelled, 2 if all seeds
    of an experiment diverged.
    """
    if idempotency_key is not None and len(files) > 1:
        raise NormbenchError(
            "--idempotency-key is for one file, as each experiment needs its own key; submit one file at a time"
        )
    if dry_run and wait:
        raise NormbenchError("--dry-run submits nothing that --wait could wait for; leave one of them out")
    client = command.client()
    submitted = []
    for file, spec, plan in _plan_files(client, [command.standard_input_or(file) for file in files]):
        wanted = _new_seeds(file, spec, plan) if only_new else spec
        if wanted is None:
            command.show(as_json, plan)
        elif dry_run:
            shown = plan if wanted is spec else client.dry_run(wanted)
            command.show(as_json, shown, display.plan(shown))
        else:
            if plan["measured_seeds"] and not only_new:
                command.note(f"{file}: {seeds(plan['measured_seeds'])} measured already; --only-new leaves them out")
            for told in display.other_code(plan):
                command.note(f"{file}: {told}; the runs that it trains are of its code")
            submitted.append(_submit(client, file, wanted, idempotency_key))
            _tell(submitted[-1], wait, as_json)
    if wait and submitted:
        watching.wait(client, [experiment["id"] for experiment in submitted], as_json)
    elif submitted:
        _tell_of_missing_workers(client, submitted)


def _plan_files(client: Client, files: Sequence[Path]) -> list[tuple[Path, Mapping[str, Any], Plan]]:
    """Read the files and ask for their plans: file, spec and plan of each.

    Raises:
        NormbenchError: the service is away, or refuses a spec; the message names each refused file and the reason.
    """
    planned, refusals = [], []
    for file in files:
        try:
            spec = command.read(file)
            planned.append((file, spec, _plan(client, file, spec)))
        except Invalid as refusal:
            refusals.append(str(refusal))
    if refusals:
        raise NormbenchError("\n".join(refusals))
    return planned


def _plan(client: Client, file: Path, spec: Mapping[str, Any]) -> Plan:
    """Ask for the plan of a spec.

    Raises:
        Invalid: the service refuses the spec; the message names its file.
    """
    try:
        return client.dry_run(spec)
    except (Unauthorized, Unavailable):
        raise
    except Refused as refusal:
        raise Invalid(str(command.add_file_name(file, refusal))) from None


def _submit(client: Client, file: Path, spec: Mapping[str, Any], idempotency_key: str | None) -> Experiment:
    """Submit a spec.

    Raises:
        NormbenchError: the service is away, or refuses the spec; the message names its file.
    """
    try:
        return client.submit(spec, idempotency_key=idempotency_key)
    except NormbenchError as error:
        raise command.add_file_name(file, error) from None


def _new_seeds(file: Path, spec: Mapping[str, Any], plan: Plan) -> Mapping[str, Any] | None:
    """Spec with only the seeds that are not measured yet; None if all seeds are measured."""
    measured = set(plan["measured_seeds"])
    left = [seed for seed in plan["spec"]["seeds"] if seed not in measured]
    if measured:
        command.note(f"{file}: {seeds(sorted(measured))} measured already, left out")
    if not left:
        command.note(f"{file}: nothing is left to submit")
        return None
    return {**spec, "seeds": left} if measured else spec


def _tell(experiment: Experiment, wait: bool, as_json: bool) -> None:
    """Print an experiment's id at once; to standard error with ``--wait --json``, whose answer comes in the end."""
    id, runs = experiment["id"], display.runs_of(experiment)
    if wait:
        typer.echo(f"{id}  {runs}", err=as_json)
    else:
        command.say(as_json, experiment, f"{id}  {runs}; normbench watch {id}")


def _tell_of_missing_workers(client: Client, submitted: Sequence[Experiment]) -> None:
    queue = Queue(client)
    for device in sorted(
        {experiment["spec"]["device"] for experiment in submitted if experiment["state"] not in ENDED}
    ):
        missing = queue.no_worker(device)
        if missing:
            command.note(missing)


def status(
    experiment_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="An experiment or sweep; the newest experiments if omitted.")
    ] = None,
    sweeps: Annotated[bool, typer.Option("--sweeps", help="Show the newest sweeps.")] = False,
    sweep: Annotated[str | None, typer.Option(metavar="ID", help="Only experiments of this sweep.")] = None,
    task: options.OfTask = None,
    profile: options.OfProfile = None,
    method: options.WithMethod = None,
    state: options.InState = None,
    label: options.WithLabels = None,
    fingerprint: Annotated[str | None, typer.Option(help="First 8 or more characters of a fingerprint.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of rows to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Show the runs of an experiment, the cells of a sweep, the newest experiments, or the newest sweeps."""
    client = command.client()
    if experiment_id is not None and command.is_sweep(experiment_id):
        of_sweeps.status(client, experiment_id, as_json)
        return
    if experiment_id is not None:
        experiment = client.experiment(command.experiment_id(experiment_id))
        waits = not as_json and display.waits(experiment)
        reason = [Text(f"waiting: {Queue(client).why(experiment)}")] if waits else []
        command.show(as_json, experiment, display.runs(experiment), *reason)
        return
    if sweeps:
        newest = list(islice(client.sweeps(page_size=min(limit, MAX_ON_A_PAGE)), limit))
        command.show(as_json, newest, display_sweeps(newest, datetime.now(UTC)))
        return
    found = client.experiments(
        task=task,
        profile=profile,
        method=method,
        state=cast(State | None, state),
        fingerprint=fingerprint,
        sweep=sweep,
        labels=command.labels(label or []),
        page_size=min(limit, MAX_ON_A_PAGE),
    )
    summaries = list(islice(found, limit))
    command.show(as_json, summaries, display.experiments(summaries, datetime.now(UTC)))


def cancel(experiment_id: ExperimentId, as_json: Json = False) -> None:
    """Cancel an experiment or a whole sweep: queued runs stop at once, running ones within seconds."""
    client = command.client()
    is_sweep = command.is_sweep(experiment_id)
    found = client.cancel_sweep(experiment_id) if is_sweep else client.cancel(command.experiment_id(experiment_id))
    ended = found["state"] in ENDED
    _say(found, found["state"] if ended else "being cancelled; its running runs stop within seconds", as_json)


def retry(experiment_id: ExperimentId, as_json: Json = False) -> None:
    """Try the failed and cancelled runs of an experiment or sweep again, from their last checkpoints."""
    client = command.client()
    is_sweep = command.is_sweep(experiment_id)
    found = client.retry_sweep(experiment_id) if is_sweep else client.retry(command.experiment_id(experiment_id))
    _say(found, found["state"], as_json)


def _say(found: Experiment | Sweep, what: str, as_json: bool) -> None:
    command.say(as_json, found, f"{found['id']}: {what}")

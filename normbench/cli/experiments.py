"""Submit experiments, list them, stop them and try them again."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from normbench.answers import Experiment, Plan, State
from normbench.cli import command, watching
from normbench.cli.command import Json
from normbench.display import experiments as display
from normbench.display.numbers import seeds
from normbench.errors import NormbenchError
from normcore.spec import read_spec

MOST_ON_A_PAGE = 200

ExperimentId = Annotated[str, typer.Argument(metavar="ID", help="An experiment, exp_…")]


def submit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="YAML or JSON files; - is standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until every run has ended.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take; submit nothing.")] = False,
    only_new: Annotated[bool, typer.Option("--only-new", help="Leave out seeds that are measured already.")] = False,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Submitting one file again with this key finds the same experiment.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Submit experiments, one from each file. With --json: an object a line for each."""
    if idempotency_key is not None and len(files) > 1:
        raise NormbenchError("--idempotency-key is for one file; each experiment needs a key of its own")
    client = command.client()
    specs = [_read(file) for file in files]
    submitted = []
    for file, spec in zip(files, specs, strict=True):
        plan = client.dry_run(spec)
        wanted = _new_seeds(file, spec, plan) if only_new else spec
        if wanted is None:
            continue
        if dry_run:
            _show_plan(client.dry_run(wanted) if wanted is not spec else plan, as_json)
            continue
        if plan["measured_seeds"] and not only_new:
            command.note(f"{seeds(plan['measured_seeds'])} measured already; --only-new leaves out what is")
        experiment = client.submit(wanted, idempotency_key=idempotency_key)
        submitted.append(experiment["id"])
        _tell(experiment, wait, as_json)
    if wait and submitted:
        watching.wait(client, submitted, as_json)


def _read(file: Path) -> Any:
    try:
        return read_spec(Path("/dev/stdin") if str(file) == "-" else file)
    except OSError as error:
        raise NormbenchError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise NormbenchError(str(error)) from None


def _new_seeds(file: Path, spec: Mapping[str, Any], plan: Plan) -> Mapping[str, Any] | None:
    """The spec with those seeds alone that are not measured yet; None if all are."""
    measured = set(plan["measured_seeds"])
    left = [seed for seed in plan["spec"]["seeds"] if seed not in measured]
    if measured:
        command.note(f"{file}: {seeds(sorted(measured))} measured already, left out")
    if not left:
        command.note(f"{file}: nothing is left to submit")
        return None
    return {**spec, "seeds": left} if measured else spec


def _show_plan(plan: Plan, as_json: bool) -> None:
    command.show(as_json, plan, display.plan(plan))


def _tell(experiment: Experiment, wait: bool, as_json: bool) -> None:
    """The experiment's id, at once; with ``--wait --json`` beside the answer, which comes in the end."""
    id, runs = experiment["id"], display.runs_of(experiment)
    if wait:
        typer.echo(f"{id}  {runs}", err=as_json)
    else:
        command.say(as_json, experiment, f"{id}  {runs}; normbench watch {id}")


def status(
    experiment_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One experiment; the newest ones if omitted.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Only of this task.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only at this size: paper, small or smoke.")] = None,
    method: Annotated[str | None, typer.Option(help="Only with this method.")] = None,
    state: Annotated[str | None, typer.Option(help="queued, running, succeeded, failed or cancelled.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY:VALUE", help="Repeat it to ask for several.")] = None,
    fingerprint: Annotated[str | None, typer.Option(help="8 or more of its characters.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Show an experiment's runs, or the newest experiments."""
    client = command.client()
    if experiment_id is not None:
        experiment = client.experiment(experiment_id)
        command.show(as_json, experiment, display.runs(experiment))
        return
    found = client.experiments(
        task=task,
        profile=profile,
        method=method,
        state=cast(State | None, state),
        fingerprint=fingerprint,
        labels=_labels(label or []),
        page_size=min(limit, MOST_ON_A_PAGE),
    )
    summaries = list(islice(found, limit))
    command.show(as_json, summaries, display.experiments(summaries))


def _labels(written: list[str]) -> dict[str, str]:
    wrong = next((text for text in written if ":" not in text), None)
    if wrong is not None:
        raise NormbenchError(f"--label {wrong}: write it as KEY:VALUE")
    return dict(text.split(":", 1) for text in written)


def cancel(experiment_id: ExperimentId, as_json: Json = False) -> None:
    """Cancel an experiment: queued runs at once, running ones within seconds."""
    _say_state(command.client().cancel(experiment_id), as_json)


def retry(experiment_id: ExperimentId, as_json: Json = False) -> None:
    """Try an experiment's failed and cancelled runs again, from their last checkpoints."""
    _say_state(command.client().retry(experiment_id), as_json)


def _say_state(experiment: Experiment, as_json: bool) -> None:
    command.say(as_json, experiment, f"{experiment['id']}: {experiment['state']}")

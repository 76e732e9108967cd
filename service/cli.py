"""``normbench``: what users do, over HTTP. Whoever runs the service finds its commands in ``operate``."""

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from normcore.spec import read_spec
from service import display, operate
from service.client import Client, ClientError
from service.operate import Json
from service.report_cards import display as report_cards

app = typer.Typer(
    name="normbench",
    no_args_is_help=True,
    add_completion=False,
    help="Benchmark normalization in recurrent networks. NORMBENCH_URL names the service"
    " (default http://127.0.0.1:8000), NORMBENCH_API_KEY holds your key where it asks for one.",
)
PIPE_WIDTH = 120  # columns of text for another program; a terminal says its own
Profile = Annotated[str | None, typer.Option(help="paper, small or smoke.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command of ours; what the service refuses becomes a message and exit status 2."""

    @wraps(function)
    def guarded(*args: Any, **options: Any) -> None:
        try:
            function(*args, **options)
        except ClientError as error:
            typer.echo(f"normbench: {error}", err=True)
            raise typer.Exit(2) from None

    return app.command()(guarded)


for own in (operate.up, operate.api, operate.worker, operate.scheduler, operate.migrate):
    app.command()(own)
app.add_typer(operate.keys, name="keys")
app.add_typer(operate.data, name="data")


@command
def demo(
    port: Annotated[int, typer.Option(help="Port of the service that the demo starts.")] = 8000, as_json: Json = False
) -> None:
    """Start the service, train three methods on real digits, show the leaderboard."""
    from service.demo import demo as run_demo
    from service.settings import Settings, read_settings

    settings = read_settings(Settings)
    board = run_demo(settings, port, _console(as_json))
    if as_json:
        typer.echo(json.dumps(board))
        return
    _console().print(display.leaderboard(board))
    _console().print(
        f"The results stay in {settings.data_dir}. To look further, run `normbench up --port {port}`, then\n"
        f"  http://127.0.0.1:{port}/docs                              every call, ready to try\n"
        f"  http://127.0.0.1:{port}/v1/leaderboards/{board['task']}   this table as JSON\n"
        f"  normbench leaderboard {board['task']} --rank-by steps_to_target",
        soft_wrap=True,
        highlight=False,
    )


@command
def submit(
    spec: Annotated[Path, typer.Argument(help="A YAML or JSON file; - reads standard input.")],
    wait: Annotated[bool, typer.Option("--wait", help="Show progress until every run has ended.")] = False,
    idempotency_key: Annotated[str | None, typer.Option(help="Submitting again with this key finds the same.")] = None,
    as_json: Json = False,
) -> None:
    """Submit an experiment."""
    client = Client()
    try:
        written = read_spec(Path("/dev/stdin") if str(spec) == "-" else spec)
    except (OSError, ValueError) as error:
        raise ClientError(str(error)) from None
    experiment = client.submit(written, idempotency_key)
    if wait:
        _wait(client, experiment["id"], as_json)
    elif as_json:
        typer.echo(json.dumps(experiment))
    else:
        typer.echo(f"{experiment['id']}  ({len(experiment['runs'])} runs; `normbench watch {experiment['id']}`)")


@command
def watch(experiment_id: str, as_json: Json = False) -> None:
    """Show an experiment's progress until every run has ended; exit status 1 if one failed."""
    _wait(Client(), experiment_id, as_json)


@command
def status(
    experiment_id: Annotated[str | None, typer.Argument(help="One experiment; the newest ones if omitted.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 20,
    as_json: Json = False,
) -> None:
    """Show an experiment's runs, or the newest experiments."""
    client = Client()
    if experiment_id is None:
        experiments = client.experiments(limit=limit)
        rows = [
            (e["id"], e["spec"]["task"]["name"], display.method_of(e["spec"]), e["state"], _counts(e["runs_by_state"]))
            for e in experiments
        ]
        _print(as_json, experiments, "Experiments, newest first", ("id", "task", "method", "state", "runs"), rows)
        return
    experiment = client.experiment(experiment_id)
    columns = ("run", "seed", "state", "attempt", "step", "test", "outcome or error")
    runs = [
        (
            run["id"],
            run["seed"],
            run["state"],
            run["attempt"],
            f"{run['progress']['step']}/{run['progress']['max_steps']}",
            _test_value(run),
            run["error"] or run["outcome"],
        )
        for run in experiment["runs"]
    ]
    _print(as_json, experiment, f"{experiment_id}: {experiment['state']}", columns, runs)


@command
def cancel(experiment_id: str, as_json: Json = False) -> None:
    """Cancel an experiment: queued runs at once, running ones within seconds."""
    experiment = Client().cancel(experiment_id)
    operate.say(as_json, experiment, f"{experiment_id}: {experiment['state']}")


@command
def retry(experiment_id: str, as_json: Json = False) -> None:
    """Try an experiment's failed and cancelled runs again, from their last checkpoints."""
    experiment = Client().retry(experiment_id)
    operate.say(as_json, experiment, f"{experiment_id}: {experiment['state']}")


@command
def leaderboard(
    task: str,
    profile: Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="metric, steps_to_target or seconds_to_target.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The method that speed-ups are measured against.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Rank the papers' numbers, too.")] = False,
    as_json: Json = False,
) -> None:
    """Show which method wins a task."""
    options = {"profile": profile, "rank_by": rank_by, "baseline": baseline, "published": published or None}
    board = Client().leaderboard(task, **options)
    if as_json:
        typer.echo(json.dumps(board))
    else:
        _console().print(display.leaderboard(board))


@command
def report_card(
    method: str,
    measure: Annotated[
        bool, typer.Option(help="Submit the analyses that are missing and wait for them; otherwise show what there is.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Show what has been measured of a method: invariances, gradient flow, cost, smallest batch, standings."""
    client = Client()
    card = client.report_card(method)
    if measure and (card["missing"] or card["pending"]):
        submitted = [client.submit(spec)["id"] for spec in card["missing"]]
        for experiment in display.watch(client, [*card["pending"], *submitted], _console(as_json)):
            _complain(experiment)
        card = client.report_card(method)
    if as_json:
        typer.echo(json.dumps(card))
    else:
        for part in report_cards.shown(card):
            _console().print(part)
    if measure and card["missing"]:
        raise typer.Exit(1)


@command
def tasks(as_json: Json = False) -> None:
    """Show the tasks one can ask for."""
    items = Client().catalogue("tasks")
    rows = [(t["name"], t["description"].partition("\n\n")[0], _metric(t), ", ".join(t["profiles"])) for t in items]
    _print(as_json, items, "Tasks", ("name", "what", "metric", "profiles"), rows)


@command
def methods(as_json: Json = False) -> None:
    """Show the normalization methods one can ask for."""
    items = Client().catalogue("methods")
    rows = [(m["name"], m["description"], ", ".join(m["options"]["properties"]), m["citation"]) for m in items]
    _print(as_json, items, "Methods", ("name", "what", "options", "source"), rows)


def _wait(client: Client, experiment_id: str, as_json: bool) -> None:
    experiment = display.watch(client, [experiment_id], _console(as_json))[0]
    if as_json:
        typer.echo(json.dumps(experiment))
    for run in experiment["runs"]:
        if not as_json and run["result"] and "findings" in run["result"]:
            _console().print(display.findings(run))
    _complain(experiment)
    if experiment["state"] == "failed":
        raise typer.Exit(1)


def _complain(experiment: dict[str, Any]) -> None:
    for run in experiment["runs"]:
        if run["state"] == "failed":
            typer.echo(f"normbench: {run['id']} (seed {run['seed']}) failed: {run['error']}", err=True)


def _console(quiet: bool = False) -> Any:
    """Standard output, or standard error where that is for JSON."""
    from rich.console import Console

    console = Console(stderr=quiet)
    return console if console.is_terminal else Console(stderr=quiet, width=PIPE_WIDTH)


def _metric(task: dict[str, Any]) -> str:
    return str(task["metric"]["name"] if task["metric"] else task["kind"])


def _test_value(run: dict[str, Any]) -> str | None:
    value = display.value_of(run)
    return f"{value:.3f}" if value is not None else None


def _counts(by_state: dict[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in by_state.items())


def _print(as_json: bool, content: Any, title: str, columns: tuple[str, ...], rows: list[Any]) -> None:
    if as_json:
        typer.echo(json.dumps(content))
    else:
        _console().print(display.table(title, columns, rows, folds=("what", "options", "source", "outcome or error")))


def main() -> None:
    """The command ``normbench``."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(app())

"""Export of the service's data, as files for other programs."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from normbench.cli import command
from normbench.cli.command import Json, guarded
from normbench.cli.leaderboards import OVERALL
from normbench.download import save
from normbench.errors import NormbenchError
from normbench.files import MEDIA_TYPES, FileFormat

app = typer.Typer(
    no_args_is_help=True, help="Boards, comparisons, sweeps, experiments and measurements as CSV or Parquet."
)

Format = Annotated[str, typer.Option("--format", help="csv or parquet.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; standard output if omitted.")
]
Profile = Annotated[str | None, typer.Option(help="paper, small or smoke.")]


@app.command("board")
@guarded
def board(
    task: Annotated[str, typer.Argument(metavar="TASK", help="`normbench tasks` shows them.")],
    profile: Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="metric, steps_to_target or seconds_to_target.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The method that speed-ups are measured against.")] = None,
    problem: Annotated[str | None, typer.Option(help="One of the board's problems; else the profile's own.")] = None,
    published: Annotated[bool, typer.Option("--published", help="With the papers' numbers.")] = False,
    over_budget: Annotated[
        bool, typer.Option("--over-budget", help="Rank entries that had more than the board's budget, too.")
    ] = False,
    best: Annotated[
        bool, typer.Option("--best", help="One entry a method, that with the best validation value.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="The board of a moment, such as 2026-11-25T12:00:00Z.")
    ] = None,
    code: Annotated[str | None, typer.Option(metavar="all", help="all: also show what is of older code.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """A leaderboard, a row for each entry."""
    if task == OVERALL:
        raise NormbenchError("a board is of a task; `normbench export overall` has all of them")
    client = command.client()
    options: dict[str, Any] = {"profile": profile, "rank_by": rank_by, "baseline": baseline, "problem": problem}
    options |= {"published": published, "over_budget": over_budget}
    options |= {"entries": "best" if best else None, "as_of": as_of, "code": code}
    if as_json:
        _deliver_json(client.leaderboard(task, **options), output)
    else:
        _deliver(client.export("board", task, format=_checked(format, output), **options), output)


@app.command("overall")
@guarded
def overall(
    profile: Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="steps_to_target or seconds_to_target.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Methods over all tasks, a row for each; --json has their curves, too."""
    client = command.client()
    options: dict[str, Any] = {"profile": profile, "rank_by": rank_by}
    if as_json:
        _deliver_json(client.overall(**options), output)
    else:
        _deliver(client.export("overall", format=_checked(format, output), **options), output)


@app.command("comparison")
@guarded
def comparison(
    fingerprints: Annotated[
        list[str], typer.Argument(metavar="FINGERPRINT...", help="Two or more of one board, or 8 characters of each.")
    ],
    baseline: Annotated[str | None, typer.Option(help="The one that others are compared with.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Entries side by side, a row for each; --json has their curves, too."""
    client = command.client()
    if as_json:
        _deliver_json(client.compare(*fingerprints, baseline=baseline), output)
    else:
        found = client.export("comparison", *fingerprints, format=_checked(format, output), baseline=baseline)
        _deliver(found, output)


@app.command("sweep")
@guarded
def sweep(
    sweep_id: Annotated[str, typer.Argument(metavar="SWEEP", help="A sweep, swp_…")],
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """A sweep, a row for each combination of values."""
    client = command.client()
    if as_json:
        _deliver_json(client.sweep(sweep_id), output)
    else:
        _deliver(client.export("sweep", sweep_id, format=_checked(format, output)), output)


@app.command("sweeps")
@guarded
def sweeps(format: Format = "csv", output: Output = None, as_json: Json = False) -> None:
    """All sweeps, a row for each, newest first."""
    client = command.client()
    if as_json:
        _deliver_json(list(client.sweeps()), output)
    else:
        _deliver(client.export("sweeps", format=_checked(format, output)), output)


@app.command("experiments")
@guarded
def experiments(
    task: Annotated[str | None, typer.Option(help="Only of this task.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only at this size: paper, small or smoke.")] = None,
    method: Annotated[str | None, typer.Option(help="Only with this method.")] = None,
    state: Annotated[str | None, typer.Option(help="queued, running, succeeded, failed or cancelled.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY:VALUE", help="Repeat it to ask for several.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """All experiments that fit, a row for each, newest first."""
    client = command.client()
    filters: dict[str, Any] = {"task": task, "profile": profile, "method": method, "state": state}
    filters["labels"] = command.labels(label or [])
    if as_json:
        _deliver_json(list(client.experiments(**filters)), output)
    else:
        _deliver(client.export("experiments", format=_checked(format, output), **filters), output)


@app.command("experiment")
@guarded
def experiment(
    experiment_id: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="An experiment, exp_…")],
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """An experiment, a row for each of its runs."""
    client = command.client()
    if as_json:
        _deliver_json(client.experiment(experiment_id), output)
    else:
        _deliver(client.export("experiment", experiment_id, format=_checked(format, output)), output)


@app.command("measurements")
@guarded
def measurements(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run, run_…")],
    series: Annotated[list[str] | None, typer.Option(help="Repeat it for several; all if omitted.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """A run's curves, a row for each measured value."""
    client, chosen = command.client(), series or []
    if as_json:
        _deliver_json(client.measurements(command.run_id(run_id), series=chosen), output)
    else:
        run = command.run_id(run_id)
        _deliver(client.export("measurements", run, format=_checked(format, output), series=chosen), output)


def _checked(format: str, output: Path | None) -> FileFormat:
    """Raises:
    NormbenchError: there is no such format, or it would fill a terminal with bytes.
    """
    if format not in MEDIA_TYPES:
        raise NormbenchError(f"--format {format}: choose from {', '.join(MEDIA_TYPES)}")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise NormbenchError("Parquet is not for terminals; name a file with --output")
    return cast(FileFormat, format)


def _deliver_json(content: Any, output: Path | None) -> None:
    _deliver(f"{json.dumps(content)}\n".encode(), output)


def _deliver(content: bytes, output: Path | None) -> None:
    """Raises:
    NormbenchError: the file cannot be written.
    """
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        save([content], output)
    except OSError as error:
        raise NormbenchError(f"{output}: {error.strerror}") from None

"""Commands that export tables as files for other programs."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from normbench.cli import command
from normbench.cli.command import Json, catch_errors
from normbench.cli.leaderboards import OVERALL
from normbench.download import save
from normbench.errors import NormbenchError
from normbench.files import MEDIA_TYPES, FileFormat

app = typer.Typer(
    no_args_is_help=True, help="Boards, comparisons, sweeps, experiments and measurements as CSV or Parquet."
)

Format = Annotated[str, typer.Option("--format", help="csv or parquet.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; standard output if omitted.")
]
Profile = Annotated[str | None, typer.Option(help="paper, small or smoke.")]


@app.command("board")
@catch_errors
def board(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task; `normbench tasks` lists them.")],
    profile: Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="metric, steps_to_target or seconds_to_target.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The method that speed-ups are measured against.")] = None,
    problem: Annotated[
        str | None, typer.Option(help="Id of one of the board's problems; else the profile's own.")
    ] = None,
    published: Annotated[bool, typer.Option("--published", help="Rank the papers' numbers, too.")] = False,
    over_budget: Annotated[
        bool, typer.Option("--over-budget", help="Rank entries that are over the board's budget, too.")
    ] = False,
    best: Annotated[
        bool, typer.Option("--best", help="Only one entry of each method: its best validation value.")
    ] = False,
    as_of: Annotated[
        str | None, typer.Option(metavar="MOMENT", help="The board at this time, such as 2026-11-25T12:00:00Z.")
    ] = None,
    code: Annotated[
        str | None, typer.Option(metavar="all", help="all: also show runs and entries of older code.")
    ] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the leaderboard of a task, one row for each entry."""
    if task == OVERALL:
        raise NormbenchError("`normbench export board` takes one task; `normbench export overall` has all tasks")
    client = command.client()
    options: dict[str, Any] = {"profile": profile, "rank_by": rank_by, "baseline": baseline, "problem": problem}
    options |= {"published": published, "over_budget": over_budget}
    options |= {"entries": "best" if best else None, "as_of": as_of, "code": code}
    if as_json:
        _deliver_json(client.leaderboard(task, **options), output)
    else:
        _deliver(client.export("board", task, format=_check_format(format, output), **options), output)


@app.command("overall")
@catch_errors
def overall(
    profile: Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="steps_to_target or seconds_to_target.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the overall leaderboard, one row for each method; --json has performance profiles, too."""
    client = command.client()
    options: dict[str, Any] = {"profile": profile, "rank_by": rank_by}
    if as_json:
        _deliver_json(client.overall(**options), output)
    else:
        _deliver(client.export("overall", format=_check_format(format, output), **options), output)


@app.command("comparison")
@catch_errors
def comparison(
    fingerprints: Annotated[
        list[str],
        typer.Argument(
            metavar="FINGERPRINT...", help="Two or more entries of one board; 8 characters of each are enough."
        ),
    ],
    baseline: Annotated[str | None, typer.Option(help="The entry that the others are compared with.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export a comparison of entries, one row for each entry; --json has their curves, too."""
    client = command.client()
    if as_json:
        _deliver_json(client.compare(*fingerprints, baseline=baseline), output)
    else:
        found = client.export("comparison", *fingerprints, format=_check_format(format, output), baseline=baseline)
        _deliver(found, output)


@app.command("sweep")
@catch_errors
def sweep(
    sweep_id: Annotated[str, typer.Argument(metavar="SWEEP", help="A sweep, swp_…")],
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export a sweep, one row for each combination of values."""
    client = command.client()
    if as_json:
        _deliver_json(client.sweep(sweep_id), output)
    else:
        _deliver(client.export("sweep", sweep_id, format=_check_format(format, output)), output)


@app.command("sweeps")
@catch_errors
def sweeps(format: Format = "csv", output: Output = None, as_json: Json = False) -> None:
    """Export all sweeps, one row for each sweep, newest first."""
    client = command.client()
    if as_json:
        _deliver_json(list(client.sweeps()), output)
    else:
        _deliver(client.export("sweeps", format=_check_format(format, output)), output)


@app.command("experiments")
@catch_errors
def experiments(
    task: Annotated[str | None, typer.Option(help="Only of this task.")] = None,
    profile: Annotated[str | None, typer.Option(help="Only of this profile: paper, small or smoke.")] = None,
    method: Annotated[str | None, typer.Option(help="Only with this method.")] = None,
    state: Annotated[str | None, typer.Option(help="queued, running, succeeded, failed or cancelled.")] = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY:VALUE", help="Repeat it for several labels.")] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the experiments that match all options, one row for each experiment, newest first."""
    client = command.client()
    filters: dict[str, Any] = {"task": task, "profile": profile, "method": method, "state": state}
    filters["labels"] = command.labels(label or [])
    if as_json:
        _deliver_json(list(client.experiments(**filters)), output)
    else:
        _deliver(client.export("experiments", format=_check_format(format, output), **filters), output)


@app.command("experiment")
@catch_errors
def experiment(
    experiment_id: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="An experiment, exp_…")],
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export an experiment, one row for each of its runs."""
    client = command.client()
    if as_json:
        _deliver_json(client.experiment(experiment_id), output)
    else:
        _deliver(client.export("experiment", experiment_id, format=_check_format(format, output)), output)


@app.command("measurements")
@catch_errors
def measurements(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run, run_…")],
    series: Annotated[
        list[str] | None, typer.Option(help="Name of a series; repeat it for several. All if omitted.")
    ] = None,
    format: Format = "csv",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the curves of a run, one row for each measured value."""
    client, chosen = command.client(), series or []
    if as_json:
        _deliver_json(client.measurements(command.run_id(run_id), series=chosen), output)
    else:
        run = command.run_id(run_id)
        _deliver(client.export("measurements", run, format=_check_format(format, output), series=chosen), output)


def _check_format(format: str, output: Path | None) -> FileFormat:
    """Check the format.

    Raises:
        NormbenchError: there is no such format, or a terminal would be filled with bytes.
    """
    if format not in MEDIA_TYPES:
        raise NormbenchError(f"--format {format}: choose from {', '.join(MEDIA_TYPES)}")
    if format == "parquet" and output is None and sys.stdout.isatty():
        raise NormbenchError("Parquet is not for terminals; name a file with --output")
    return cast(FileFormat, format)


def _deliver_json(content: Any, output: Path | None) -> None:
    _deliver(f"{json.dumps(content)}\n".encode(), output)


def _deliver(content: bytes, output: Path | None) -> None:
    """Write the content to ``output``, or to standard output for None.

    Raises:
        NormbenchError: the file cannot be written.
    """
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        save([content], output)
    except OSError as error:
        raise NormbenchError(f"{output}: {error.strerror}") from None

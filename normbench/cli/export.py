"""Commands that export tables and figures as files, for other programs and for papers."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast, get_args

import typer

from normbench.cli import command, options
from normbench.cli.command import Json, catch_errors
from normbench.cli.leaderboards import OVERALL
from normbench.client import Client
from normbench.download import save
from normbench.errors import NormbenchError
from normbench.files import MEDIA_TYPES, FigureFormat, FileFormat
from normbench.request_parts import ExportKind

app = typer.Typer(
    no_args_is_help=True, help="Boards, comparisons, sweeps, experiments and more as files, for programs and papers."
)

SUFFIXES = {"tex": "latex", "md": "markdown"}  # of files; other formats have suffixes of their names
BINARY = {"parquet": "Parquet", "pdf": "PDF", "png": "PNG"}
DATA: tuple[FileFormat, ...] = ("csv", "parquet")
FIGURE_FORMATS = get_args(FigureFormat)
ON_PAPER: tuple[ExportKind, ...] = ("board", "overall", "comparison", "sweep", "report card")
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv (the default) or parquet; with --figure: pdf (the default), svg, png."),
]
TableFormat = Annotated[str | None, typer.Option("--format", help="csv (the default) or parquet.")]
PaperFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv (the default), parquet, latex or markdown; with --figure: pdf (the default), svg, png.",
    ),
]
COLUMN = "3.25in"  # width of a column
FigureName = Annotated[
    str | None, typer.Option("--figure", metavar="NAME", help="Export this figure, such as curves, and no table.")
]
Width = Annotated[str, typer.Option(help="Width of a figure: in, cm, mm or pt.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; standard output if omitted.")
]


@app.command("board")
@catch_errors
def board(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task; `normbench tasks` lists them.")],
    profile: options.Profile = None,
    rank_by: options.RankBy = None,
    baseline: options.Baseline = None,
    problem: options.Problem = None,
    published: options.Published = False,
    over_budget: options.OverBudget = False,
    best: Annotated[
        bool, typer.Option("--best", help="Only one entry of each method: its best validation value.")
    ] = False,
    as_of: options.AsOf = None,
    code: options.Code = None,
    format: PaperFormat = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the leaderboard of a task, one row for each entry."""
    if task == OVERALL:
        raise NormbenchError("`normbench export board` takes one task; `normbench export overall` has all tasks")
    asked: dict[str, Any] = {"profile": profile, "rank_by": rank_by, "baseline": baseline, "problem": problem}
    asked |= {"published": published, "over_budget": over_budget}
    asked |= {"entries": "best" if best else None, "as_of": as_of, "code": code}
    _export(Client.leaderboard, "board", task, to=_Target(format, output, as_json, figure, width), **asked)


@app.command("overall")
@catch_errors
def overall(
    profile: options.Profile = None,
    rank_by: Annotated[str | None, typer.Option(help="steps_to_target or seconds_to_target.")] = None,
    format: PaperFormat = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the overall leaderboard, one row for each method; --json has performance profiles, too."""
    asked = {"profile": profile, "rank_by": rank_by}
    _export(Client.overall, "overall", to=_Target(format, output, as_json, figure, width), **asked)


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
    format: PaperFormat = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export a comparison of entries, one row for each entry; --json has their curves, too."""
    _export(
        Client.compare,
        "comparison",
        *fingerprints,
        to=_Target(format, output, as_json, figure, width),
        baseline=baseline,
    )


@app.command("sweep")
@catch_errors
def sweep(
    sweep_id: Annotated[str, typer.Argument(metavar="SWEEP", help="A sweep, swp_…")],
    format: PaperFormat = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export a sweep, one row for each combination of values."""
    _export(Client.sweep, "sweep", sweep_id, to=_Target(format, output, as_json, figure, width))


@app.command("report-card")
@catch_errors
def report_card(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="A method; `normbench methods` lists them.")],
    format: PaperFormat = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the report card of a method: one row for each finding; with standings in LaTeX and Markdown."""
    _export(Client.report_card, "report card", method, to=_Target(format, output, as_json, figure, width))


@app.command("sweeps")
@catch_errors
def sweeps(format: TableFormat = None, output: Output = None, as_json: Json = False) -> None:
    """Export all sweeps, one row for each sweep, newest first."""
    _export(Client.sweeps, "sweeps", to=_Target(format, output, as_json))


@app.command("experiments")
@catch_errors
def experiments(
    task: options.OfTask = None,
    profile: options.OfProfile = None,
    method: options.WithMethod = None,
    state: options.InState = None,
    label: options.WithLabels = None,
    format: TableFormat = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the experiments that match all options, one row for each experiment, newest first."""
    filters: dict[str, Any] = {"task": task, "profile": profile, "method": method, "state": state}
    filters["labels"] = command.labels(label or [])
    _export(Client.experiments, "experiments", to=_Target(format, output, as_json), **filters)


@app.command("experiment")
@catch_errors
def experiment(
    experiment_id: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="An experiment, exp_…")],
    format: Format = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export an experiment, one row for each of its runs."""
    _export(Client.experiment, "experiment", experiment_id, to=_Target(format, output, as_json, figure, width))


@app.command("measurements")
@catch_errors
def measurements(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run, run_…")],
    series: Annotated[
        list[str] | None, typer.Option(help="Name of a series; repeat it for several. All if omitted.")
    ] = None,
    format: Format = None,
    figure: FigureName = None,
    width: Width = COLUMN,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Export the curves of a run, one row for each measured value."""
    run = command.run_id(run_id)
    _export(
        Client.measurements,
        "measurements",
        run,
        to=_Target(format, output, as_json, figure, width),
        series=series or [],
    )


class _Target(NamedTuple):
    """Form of an export: the format of the file, the file, and whether JSON is written instead of a table.

    Attributes:
        format: None for the usual format.
        figure: name of a figure that is exported instead of a table.
        width: width of the figure.
    """

    format: str | None
    output: Path | None
    as_json: bool
    figure: str | None = None
    width: str = COLUMN


def _export(read: Callable[..., Any], what: ExportKind, *names: str, to: _Target, **asked: Any) -> None:
    """Write a table or a figure as a file, or with ``--json`` the answer that has the rows of the table.

    Args:
        read: method of the client that gets the answer, with the same names and options as the table.
        what: name of the table.
    """
    client = command.client()
    if to.figure is not None:
        _deliver(_read_figure(client, what, names, to, asked), to.output)
    elif to.as_json:
        found = read(client, *names, **asked)
        content = found if isinstance(found, dict) else list(found)
        _deliver(f"{json.dumps(content)}\n".encode(), to.output)
    else:
        formats = tuple(MEDIA_TYPES) if what in ON_PAPER else DATA
        format = cast(FileFormat, _check_format(to, "csv", formats))
        _deliver(client.export(what, *names, format=format, **asked), to.output)


def _read_figure(
    client: Client, what: ExportKind, names: Sequence[str], to: _Target, asked: Mapping[str, Any]
) -> bytes:
    if to.as_json:
        raise NormbenchError("--json and --figure: a figure is a file; leave one of them out")
    assert to.figure is not None
    format = cast(FigureFormat, _check_format(to, "pdf", FIGURE_FORMATS))
    return client.export_figure(what, *names, figure=to.figure, format=format, width=to.width, **asked)


def _check_format(to: _Target, usual: str, formats: Sequence[str]) -> str:
    """Find the format: the one that was asked for, else that of the file's suffix, else the ``usual`` format.

    Raises:
        NormbenchError: there is no such format, or a terminal would be filled with bytes.
    """
    by_suffix = "" if to.output is None else to.output.suffix.removeprefix(".")
    found = SUFFIXES.get(by_suffix, by_suffix)
    format = to.format or (found if found in formats else usual)
    if format not in formats:
        raise NormbenchError(f"--format {format}: choose from {', '.join(formats)}")
    if format in BINARY and to.output is None and sys.stdout.isatty():
        raise NormbenchError(f"{BINARY[format]} is not for terminals; name a file with --output")
    return format


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

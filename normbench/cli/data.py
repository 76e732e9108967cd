"""Commands of the data sets on this machine. They need no service."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from normbench.cli.command import FAILED, Json, catch_errors, complain, console, note, say, show
from normbench.display.datasets import about
from normbench.display.table import Column, Table
from normcore.data import registry
from normcore.data.folders import DATASETS_DIR, datasets_dir

app = typer.Typer(no_args_is_help=True, help="List, fetch and verify the data sets of this machine.")
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Data sets; all of them if omitted.")]
MEGABYTE = 1_000_000  # bytes


@app.command("list")
@catch_errors
def list_datasets(names: Names = None, as_json: Json = False) -> None:
    """List the data sets: if they are on this machine, their uncompressed size and licence. With NAME: all details."""
    folder = datasets_dir(os.environ)
    described = [_describe_dataset(dataset, folder) for dataset in _get_datasets(names)]
    shown = map(about, described) if names else [_overview(described, folder)]
    show(as_json, described, *shown)


def _overview(described: Iterable[Mapping[str, Any]], folder: Path) -> Table:
    columns = (
        Column("name"),
        Column("status"),
        Column("size"),
        Column("title", prose=True, optional=1),
        Column("licence", prose=True, optional=2),
    )
    rows = [(d["name"], d["status"], _megabytes(d["size"]), d["title"], d["licence"]) for d in described]
    return Table(f"Data sets in {folder}", columns, rows)


def _megabytes(size: int) -> str | None:
    return f"{size / MEGABYTE:.1f} MB" if size else None


def _describe_dataset(dataset: registry.Dataset, folder: Path) -> dict[str, Any]:
    """Details of a data set from the registry. Sizes are in bytes, uncompressed."""
    return {
        "name": dataset.name,
        "status": registry.status(dataset, folder),
        "title": dataset.title,
        "description": dataset.description,
        "citation": dataset.citation,
        "licence": dataset.licence,
        "homepage": dataset.homepage,
        "folder": str(folder / dataset.folder) if dataset.files else None,
        "by_hand": registry.by_hand(dataset, folder) if dataset.files else None,
        "size": dataset.size,
        "content_sha256": dataset.content_sha256,
        "files": [asdict(file) for file in dataset.files],
    }


@app.command("fetch")
@catch_errors
def fetch(names: Names = None, as_json: Json = False) -> None:
    """Download data sets from their official homes and check them; exit status 1 if one cannot be downloaded.

    An interrupted download continues when you fetch again. Without NAME, data
    sets that have no public address are only mentioned.
    """
    folder, fetched = datasets_dir(os.environ), dict[str, list[str]]()
    wanted = _get_datasets(names)
    if not names:
        wanted = _without_those_to_add_by_hand(wanted, folder)
    with _download_bars() as advance:

        def fetch_one(dataset: registry.Dataset) -> None:
            fetched[dataset.name] = [str(path) for path in registry.fetch(dataset, folder, advance)]

        problems = _for_each(wanted, folder, fetch_one)
    told = [f"{name}: {', '.join(paths) or 'bundled'}" for name, paths in fetched.items()]
    _conclude(as_json, {"fetched": fetched, "problems": problems}, told, problems)


def _without_those_to_add_by_hand(datasets: Iterable[registry.Dataset], folder: Path) -> list[registry.Dataset]:
    """Data sets that are present or can be downloaded. The others are mentioned on standard error."""
    possible = list[registry.Dataset]()
    for dataset in datasets:
        if dataset.fetchable or registry.status(dataset, folder) == "present":
            possible.append(dataset)
        else:
            note(f"data set '{dataset.name}' has no public address; {registry.by_hand(dataset, folder)}")
    return possible


@app.command("verify")
@catch_errors
def verify(names: Names = None, as_json: Json = False) -> None:
    """Check data sets against their SHA-256; exit status 1 if one is absent or has other content."""
    folder = datasets_dir(os.environ)
    verified = list[str]()

    def verify_one(dataset: registry.Dataset) -> None:
        found = registry.problems(dataset, folder)
        if found:
            told = "; ".join(map(str, found))
            raise registry.DatasetError(f"{told}; {registry.by_hand(dataset, folder)}")
        verified.append(dataset.name)

    problems = _for_each(_get_datasets(names), folder, verify_one)
    told = [f"genuine: {', '.join(verified)}"] if verified else []
    _conclude(as_json, {"verified": verified, "problems": problems}, told, problems)


def _for_each(
    datasets: Iterable[registry.Dataset], folder: Path, act: Callable[[registry.Dataset], None]
) -> dict[str, str]:
    """Call ``act`` for each data set in the folder. An error of one data set does not stop the others.

    Returns:
        Messages of the errors, by data set.
    """
    problems = dict[str, str]()
    for dataset in datasets:
        try:
            act(dataset)
        except registry.DatasetError as error:
            problems[dataset.name] = str(error)
        except OSError as error:
            problems[dataset.name] = _explain_unusable_folder(dataset, folder, error)
    return problems


def _explain_unusable_folder(dataset: registry.Dataset, folder: Path, error: OSError) -> str:
    """Message on a folder of data sets that the operating system cannot use, and how to choose another folder."""
    no_folder = isinstance(error, FileExistsError | NotADirectoryError)
    return (
        f"data set '{dataset.name}': {error.filename or folder} {'is no folder' if no_folder else 'cannot be used'}"
        f" ({error.strerror}); data sets are kept in {folder}, set {DATASETS_DIR} to keep them elsewhere;"
        f" {registry.by_hand(dataset, folder)}"
    )


def _conclude(as_json: bool, content: object, told: list[str], problems: dict[str, str]) -> None:
    if as_json or told:
        say(as_json, content, "\n".join(told))
    for problem in problems.values():
        complain(problem)
    if problems:
        raise typer.Exit(FAILED)


def _get_datasets(names: list[str] | None) -> list[registry.Dataset]:
    unknown = sorted(set(names or ()) - set(registry.DATASETS))
    if unknown:
        raise typer.BadParameter(f"unknown {', '.join(unknown)}; choose from {', '.join(registry.DATASETS)}")
    return [registry.DATASETS[name] for name in names or registry.DATASETS]


@contextmanager
def _download_bars() -> Iterator[registry.Progress]:
    """Show a bar for each file that is downloaded, on standard error if that is a terminal."""
    bars = dict[str, TaskID]()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    shown_on = console(err=True)
    with Progress(*columns, console=shown_on, disable=not shown_on.is_terminal) as progress:

        def advance(file: str, done: int, total: int | None) -> None:
            if file not in bars:
                bars[file] = progress.add_task(file)
            progress.update(bars[file], completed=done, total=total)

        yield advance

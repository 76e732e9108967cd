"""Command that publishes static pages."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from normbench.cli import command
from normbench.cli.command import Json
from normbench.display.numbers import format_count, size
from normbench.publishing.folder import Folder
from normbench.publishing.publication import Publication


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write; it is made if it is missing.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the pages of an earlier publication in the folder; keep the rest.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Publish boards, comparisons and report cards as a folder of static pages.

    The pages need no server: open index.html from the disk, or copy the folder
    to any web server. JSON, CSV and other formats lie beside each page.
    """
    target = Folder(folder, force=force)
    if target.was_interrupted:
        command.note(f"{folder} has a publication that was interrupted; it is replaced")
    publication = Publication(command.client())
    with Progress(console=command.console(err=True), transient=True) as bar:
        task = bar.add_task("Publishing", total=None)
        publication.fetch(lambda done, total: bar.update(task, completed=done, total=total))
    about = {"published_at": publication.moment.isoformat(), "by": publication.stamp}
    removed = target.write(publication.files, about)
    for title, reason in publication.left_out.items():
        command.note(f"left out: {title}: {reason}")
    command.say(as_json, _summary(folder, publication, removed), _text(folder, publication, removed))


def _summary(folder: Path, publication: Publication, removed: list[str]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "pages": [page.html for page in publication.pages],
        "files": len(publication.files),
        "bytes": sum(map(len, publication.files.values())),
        "removed": removed,
        "left_out": publication.left_out,
    }


def _text(folder: Path, publication: Publication, removed: list[str]) -> str:
    count = {
        section: sum(page.section == section for page in publication.pages) for section in ("boards", "comparisons")
    }
    methods = sum(page.section == "reproductions" for page in publication.pages)
    of = f"{format_count(count['boards'], 'board')}, {format_count(count['comparisons'], 'comparison')}"
    gone = f"; {format_count(len(removed), 'old file')} removed" if removed else ""
    return (
        f"{format_count(len(publication.pages), 'page')} ({of}, {format_count(methods, 'report card')}) in"
        f" {format_count(len(publication.files), 'file')}, {size(sum(map(len, publication.files.values())))}{gone}\n"
        f"Open {folder / 'index.html'}"
    )

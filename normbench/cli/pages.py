"""Command that opens a web page of the service in the browser."""

import webbrowser
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from normbench.cli import command
from normbench.cli.command import Json
from normbench.client import Client
from normbench.errors import NormbenchError
from normcore.spec import TASKS
from normcore.spec.messages import choose, quote_value
from normcore.spec.methods import METHODS
from normcore.spec.tasks import BENCHMARKS

OF_IDS = {"exp_": ("experiments", Client.experiment), "run_": ("runs", Client.run), "swp_": ("sweeps", Client.sweep)}
"""Pages of ids, and the call that finds what an id names, by the beginning of the id."""


def open_page(
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ID|TASK|METHOD]", help="Id of an experiment, run or sweep, or a task or method."),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Profile of a task's board: paper, small or smoke.")] = None,
    as_json: Json = False,
) -> None:
    """Open a page of the service in the browser, and print its address. An id that the service does not know is an
    error."""
    path = path_of(what, profile)
    with command.client() as client:
        for prefix, (_, find) in OF_IDS.items():
            if what is not None and what.startswith(prefix):
                find(client, what)
        url = f"{client.url}{path}"
    opened = webbrowser.open(url)
    command.say(as_json, {"url": url, "opened": opened}, url)


def path_of(what: str | None, profile: str | None) -> str:
    """Path of the page of an id, task or method; path of the first page for None.

    Raises:
        NormbenchError: ``what`` is not an id, task or method; or a profile is given for a page that has no profile.
    """
    if profile is not None and what not in BENCHMARKS:
        raise NormbenchError("--profile is only for the board of a task; name the task, too")
    if what is None:
        return "/"
    for prefix, (pages, _) in OF_IDS.items():
        if what.startswith(prefix):
            return f"/{pages}/{quote(what, safe='')}"
    if what in BENCHMARKS:
        return f"/boards/{what}" + (f"?{urlencode({'profile': profile})}" if profile else "")
    if what in METHODS:
        return f"/methods/{what}"
    if what in TASKS:
        return f"/tasks/{what}"
    raise NormbenchError(f"{quote_value(what)} is not an id, task or method; {choose(what, [*TASKS, *METHODS])}")

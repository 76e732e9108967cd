"""The web pages, in the browser of whoever sits here."""

import webbrowser
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from normbench.cli import command
from normbench.cli.command import Json
from normbench.errors import NormbenchError
from normcore.spec import TASKS
from normcore.spec.messages import choose, quoted
from normcore.spec.methods import METHODS
from normcore.spec.tasks import BENCHMARKS

OF_IDS = {"exp_": "experiments", "run_": "runs", "swp_": "sweeps"}


def open_page(
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ID|TASK|METHOD]", help="An experiment, run or sweep, a task's board, or a method."),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Of a task's board: paper, small or smoke.")] = None,
    as_json: Json = False,
) -> None:
    """Open the page of something in the browser, and print its address."""
    path = path_of(what, profile)
    with command.client() as client:
        url = f"{client.url}{path}"
    opened = webbrowser.open(url)
    command.say(as_json, {"url": url, "opened": opened}, url)


def path_of(what: str | None, profile: str | None) -> str:
    """The page of an id, a task or a method; the first page of None.

    Raises:
        NormbenchError: it is none of these, or a profile is given for what has none.
    """
    if profile is not None and what not in BENCHMARKS:
        raise NormbenchError("a profile goes with a task's board alone; name the task, too")
    if what is None:
        return "/"
    for prefix, pages in OF_IDS.items():
        if what.startswith(prefix):
            return f"/{pages}/{quote(what, safe='')}"
    if what in BENCHMARKS:
        return f"/boards/{what}" + (f"?{urlencode({'profile': profile})}" if profile else "")
    if what in METHODS:
        return f"/methods/{what}"
    if what in TASKS:
        return f"/tasks/{what}"
    raise NormbenchError(f"{quoted(what)} is no id, task or method; {choose(what, [*TASKS, *METHODS])}")

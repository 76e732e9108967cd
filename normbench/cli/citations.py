"""Command that prints BibTeX."""

from typing import Annotated

import typer

from normbench.cli import command
from normbench.cli.command import Json


def cite(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A task, a method, a data set, or an experiment, exp_\u2026")
    ],
    as_json: Json = False,
) -> None:
    """Print BibTeX: what to cite for a task, a method, a data set or an experiment.

    This is papers, data sets and normbench itself.
    """
    found = command.client().cite(name)
    command.say(as_json, found, found["bibtex"].rstrip())

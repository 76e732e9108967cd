"""Command that shows a run's history, timing and log lines."""

import re
from typing import Annotated, TypedDict

import typer

from normbench.answers import Run
from normbench.cli import command
from normbench.cli.command import Json
from normbench.client import Client
from normbench.display.runs import history, timing

LOG = re.compile(r"(?:(\d+)\.)?log\.txt")  # the logs of earlier attempts begin with the attempt's number


class Log(TypedDict):
    """Log of one attempt: the lines that its training process wrote."""

    attempt: int
    lines: list[str]


def logs(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run, run_…; `normbench status ID` lists runs.")],
    as_json: Json = False,
) -> None:
    """Show a run's history (attempts, when and why they ended), the time of its parts, and its log lines."""
    client = command.client()
    run = client.run(command.run_id(run_id))
    found = _logs(client, run)
    if as_json:
        command.say(True, {"run": run_id, "history": run["history"], "timing": run["timing"], "logs": found}, "")
        return
    command.show(False, run, history(run), *([timing(run["timing"])] if run["timing"] else []))
    for log in found:
        typer.echo(f"\nattempt {log['attempt']}:")
        typer.echo("\n".join(log["lines"]))
    if not found:
        typer.echo("\nno log lines are stored")


def _logs(client: Client, run: Run) -> list[Log]:
    """Get the stored logs of a run, the earliest attempt's first."""
    names = {artifact["name"] for artifact in client.artifacts(run["id"])}
    attempts = {int(match[1] or run["attempt"]): match[0] for name in names if (match := LOG.fullmatch(name))}
    return [
        {"attempt": attempt, "lines": client.artifact_text(run["id"], name).splitlines()}
        for attempt, name in sorted(attempts.items())
    ]

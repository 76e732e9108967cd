"""Commands that list tasks and methods."""

from typing import Any

from normbench.cli import command
from normbench.cli.command import Json
from normbench.display.table import Column, Table


def tasks(as_json: Json = False) -> None:
    """List the tasks."""
    items = command.client().catalogue("tasks")
    columns = (Column("name"), Column("what", prose=True), Column("metric"), Column("profiles", optional=1))
    rows = [(t["name"], t["description"].partition("\n\n")[0], _metric(t), ", ".join(t["profiles"])) for t in items]
    command.show(as_json, items, Table("Tasks", columns, rows))


def methods(as_json: Json = False) -> None:
    """List the normalization methods."""
    items = command.client().catalogue("methods")
    columns = (
        Column("name"),
        Column("what", prose=True),
        Column("options", prose=True, optional=2),
        Column("source", prose=True, optional=1),
    )
    rows = [(m["name"], m["description"], ", ".join(m["options"]["properties"]), m["citation"]) for m in items]
    command.show(as_json, items, Table("Methods", columns, rows))


def _metric(task: dict[str, Any]) -> str:
    return str(task["metric"]["name"] if task["metric"] else task["kind"])

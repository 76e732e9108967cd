"""Findings of an analysis as a table."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from normbench.answers import Run
from normbench.display.table import Column, Table

Cell = Callable[[Mapping[str, Any]], Any]


def findings(run: Run) -> Group:
    """Table of a run's findings, each with its source's claim. Columns that are empty in every row are left out."""
    found = run["result"]["findings"] if run["result"] else []
    meanings = {finding["meaning"] for finding in found}
    columns: list[tuple[Column, Cell]] = [
        (Column("what", prose=True), lambda f: f["name"]),
        (Column("measured"), lambda f: None if f["value"] is None else f"{f['value']:.4g}"),
        (Column("verdict", prose=True), lambda f: f["verdict"]),
        (Column("claimed", prose=True), lambda f: f["claim"]),
        (Column("holds"), lambda f: None if f["holds"] is None else "yes" if f["holds"] else "NO"),
        (Column("source", optional=1), lambda f: f["source"]),
        (Column("measured is", prose=True, optional=2), lambda f: f["meaning"] if len(meanings) > 1 else None),
    ]
    told = [(column, cell) for column, cell in columns if any(cell(finding) is not None for finding in found)]
    rows = [[cell(finding) for _, cell in told] for finding in found]
    about = [Text(f"Measured is {next(iter(meanings))}.")] if len(meanings) == 1 else []
    return Group(Table(f"{run['id']}, seed {run['seed']}", [column for column, _ in told], rows), *about, Text())

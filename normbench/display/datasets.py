"""Description of one data set and its files, as lines."""

from collections.abc import Mapping
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from normbench.display.table import GAP, block


def about(dataset: Mapping[str, Any]) -> Group:
    """Show a data set, with one block of lines for each of its files.

    Args:
        dataset: as ``normbench data list NAME --json`` prints it. Sizes are of uncompressed files.
    """
    files = dataset["files"]
    lines = {
        "title": dataset["title"],
        "what it is": dataset["description"],
        "status": dataset["status"],
        "home": dataset["homepage"],
        "citation": dataset["citation"],
        "licence": dataset["licence"],
        "SHA-256": dataset["content_sha256"],
    }
    if files:
        number = "1 file" if len(files) == 1 else f"{len(files)} files"
        lines["size"] = f"{_size(dataset['size'])} in {number}" if dataset["size"] else ""
        lines["by hand"] = dataset["by_hand"].removeprefix("to add it by hand, ")
    if files and all(file["urls"] for file in files):
        lines["fetch"] = f"normbench data fetch {dataset['name']}"
    told = block({name: value for name, value in lines.items() if value})
    return Group(Text(dataset["name"], "bold"), told, *map(_file, files))


def _size(known: int) -> str:
    return f"{known:,} bytes" if known else "not known"


def _file(file: Mapping[str, Any]) -> Padding:
    lines = {
        "size": _size(file["size"]),
        "SHA-256": file["sha256"] or "not published; a run records the SHA-256 of your file",
        "from": " ".join(file["urls"]) or "no public address",
    }
    if file["member"]:
        lines["in it"] = file["member"]
    return Padding(Group(Text(file["name"]), block(lines)), (0, 0, 0, GAP), expand=False)

"""Reference page of the command line, written from Typer's description of the commands."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from guide.reference.markdown import code, joined, prose, table
from normbench.cli import app

COMMON = ("help", "as_json")


def page() -> str:
    """Markdown of the page of the command line."""
    return joined(
        "# Command line",
        prose(app.registered_callback.callback.__doc__ if app.registered_callback else ""),
        "Every command has `--help`. A command that shows something has `--json`, which prints the API's answer.",
        *_commands(typer.main.get_command(app), "normbench"),
    )


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        full = f"{path} {name}"
        if hasattr(command, "commands"):
            yield joined(f"## {full}", prose(command.help))
            yield from _commands(command, full)
        else:
            yield _command(full, command)


def _command(full: str, command: Any) -> str:
    usage = " ".join([full, *(word for part in command.params for word in _usage(part))])
    rows = [(code(_name(part)), prose(getattr(part, "help", "")), _default(part)) for part in _shown(command)]
    level = "#" * len(full.split())
    return joined(
        f"{level} {full}",
        f"`{usage}`",
        prose(inspect.cleandoc(command.help or "")),
        table(("argument", "meaning", "default"), rows),
    )


def _shown(command: Any) -> list[Any]:
    return [part for part in command.params if part.name not in COMMON]


def _usage(part: Any) -> Iterator[str]:
    if part.param_type_name == "argument":
        word = (part.metavar or part.name or "").upper() + ("…" if part.nargs == -1 else "")
        yield word if part.required else f"[{word}]"


def _name(part: Any) -> str:
    if part.param_type_name == "argument":
        return (part.metavar or part.name or "").upper()
    return ", ".join([*part.opts, *part.secondary_opts])


def _default(part: Any) -> str:
    default = part.default
    if default in (None, False, "", ()) or callable(default):
        return "required" if part.required else ""
    return code(str(default))

"""Options, variables and extras that a sentence of a document names exist."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from normbench.cli import app
from normcore.variables import KNOWN, PREFIX
from tests.documents import DOCUMENTS, ROOT, name_of

OPTIONS = re.compile(r"`(--[^`]+)`")
"""Options in a sentence, without their command."""
OPTION = re.compile(r"(?<![\w-])--[\w-]+")
PARSED = re.compile(r'add_argument\(\s*((?:"-[\w-]+",?\s*)+)')
"""Options that a program of ours adds to its parser."""
PROGRAMS = ("benchmarks", "examples", "normcore", "workers")
"""Folders with programs of ours."""
VARIABLE = re.compile(rf"\b{PREFIX}(\w+)")
RENAMED = {"RING_AGAIN_SECONDS"}  # the changelog has the old name
EXTRAS = re.compile(r"(?:normbench|(?<=[\s'])\.)\[([\w,-]+)\]")
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
MISTAKES_IN_OPTIONS = {
    "`--wiat`": "--wiat",
    "`--crop 10`": "--crop",
    "`--kind frozen --time 5`": "--time",
    "`--no-wait=1`": "--no-wait",
}
MISTAKES_IN_NAMES = {
    "`pip install normbench[sever]`": "no extra sever",
    "pip install -e '.[all,worker,gpus]'": "no extra gpus",
    "Set `NORMBENCH_DATADIR` before.": "no variable NORMBENCH_DATADIR",
}


@cache
def options() -> frozenset[str]:
    """Options of the command line and of all programs of ours."""
    files = [file for folder in PROGRAMS for file in (ROOT / folder).rglob("*.py")]
    added = [words for file in files for words in PARSED.findall(file.read_text(encoding="utf-8"))]
    return frozenset([*options_of(typer.main.get_command(app)), *OPTION.findall(" ".join(added))])


def options_of(command: Any) -> Iterator[str]:
    """Options of a command of normbench and of the commands below it."""
    for parameter in command.get_params(typer.Context(command)):
        yield from (*parameter.opts, *parameter.secondary_opts)
    for below in getattr(command, "commands", {}).values():
        yield from options_of(below)


def check_options(text: str) -> None:
    """Check that options in a sentence are options of ours."""
    for option in (option for found in OPTIONS.findall(text) for option in OPTION.findall(found)):
        assert option in options(), f"no command of ours has {option}"


def check_names(text: str) -> None:
    """Check that variables and extras in a document are declared."""
    for name in VARIABLE.findall(text):
        assert name in KNOWN | RENAMED, f"no variable {PREFIX}{name}"
    for extra in ",".join(EXTRAS.findall(text)).split(","):
        assert extra in {*DECLARED, ""}, f"no extra {extra}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_option_in_a_sentence_exists(document: Path) -> None:
    check_options(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_OPTIONS.items())
def test_mistake_in_an_option_is_reported(text: str, told: str) -> None:
    with pytest.raises(AssertionError, match=f"has {told}\n"):
        check_options(text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_variables_and_extras_in_a_document_are_declared(document: Path) -> None:
    check_names(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_NAMES.items())
def test_mistake_in_a_name_is_reported(text: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_names(text)

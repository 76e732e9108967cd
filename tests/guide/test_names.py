"""Names in documents exist: options, variables, extras, fields of answers, and all other names in inline code.

What a page shows of a stored run and of an entry point is as the code has it.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import normbench
from guide.reference.http import openapi
from normbench.cli import app
from normcore.own_code import code_of
from normcore.spec.resolve import resolve
from normcore.variables import KNOWN, PREFIX
from tests.documents import DOCUMENTS, FENCE, ROOT, blocks, name_of

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
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`")
"""Name in a sentence, or several with dots between them: a field, an option of a spec, a class, a file."""
CODE = ("benchmarks", "examples", "guide", "normbench", "normcore", "service", "tests", "workers")
"""Folders of the code that documents name."""
FOREIGN = {
    *(
        "__repr__",
        "_foreach",
        "cudaDeviceProp",
        "clockRate",
        "default_generator",
        "libgomp",
        "libgomp1",
        "proj_size",
        "ptxas",
    ),
    *("setup", "SLPVectorizer", "TMPDIR"),
}
"""Names of other programs."""
ABSENT = {"Replayed", "seeds_together"}  # an earlier name, and an option that was considered
FOR_USERS = re.compile(r"docs/(start|use|operate)/(?!library)|docs/extend/own-code\.md")
"""Pages for users of the service. Their names are those of the HTTP API, with its specs, and of the Python client.

The page of the library is for users of torch, and has other names."""
OF_OTHERS = {
    *("__init__", "__repr__", "localhost", "sqlite3"),
    *("CHANGELOG", "html", "index", "json", "log", "md", "published", "py", "up"),  # files
    *("grad_norm", "train", "normbench_build_info", "replay_of"),  # a series, a metric and a label
    *("mixed", "p", "time"),  # columns
}
"""Names on the pages for users that are neither in the HTTP API nor in the Python client."""
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


def names(text: str) -> set[str]:
    """Names in inline code of a document, each by itself."""
    found = {name for names in NAME.findall(FENCE.sub("", text)) for name in names.split(".")}
    return {name for name in found if not name.startswith(PREFIX)}


@cache
def words_of_code() -> frozenset[str]:
    """All words of our code and of the names of its files. The text of this module has names of others."""
    found = [file for folder in CODE for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".hpp", ".yaml")]
    texts = [file.read_text(encoding="utf-8") for file in (*found, ROOT / "Makefile") if file != Path(__file__)]
    return frozenset(word for text in (*texts, *map(name_of, found)) for word in re.findall(r"\w+", text))


@cache
def words_of_interfaces() -> frozenset[str]:
    """Names in the HTTP API and in the Python client."""
    return frozenset((*fields(openapi()), *vars(normbench.Client), *normbench.__all__))


def fields(part: Any) -> Iterator[str]:
    """Names in a part of the OpenAPI document: properties, parameters, and values that are names."""
    if isinstance(part, dict):
        yield from part
        part = list(part.values())
    if isinstance(part, list):
        for below in part:
            yield from fields(below)
    elif isinstance(part, str) and part.isidentifier():
        yield part


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_name_in_a_sentence_is_a_word_of_the_code(document: Path) -> None:
    assert names(document.read_text(encoding="utf-8")) - words_of_code() - FOREIGN - ABSENT == set()


@pytest.mark.parametrize("page", [page for page in DOCUMENTS if FOR_USERS.match(name_of(page))], ids=name_of)
def test_every_name_on_a_page_for_users_is_of_an_interface(page: Path) -> None:
    assert names(page.read_text(encoding="utf-8")) - words_of_interfaces() - OF_OTHERS == set()


def test_unknown_names_are_found() -> None:
    found = names("Each has `set_asid` and `code.workerz`, but no `spec`.\n```sh\nls `none`\n```\n")
    assert found - words_of_code() == found - words_of_interfaces() == {"set_asid", "workerz"}


def test_code_of_a_run_is_shown_with_the_fields_that_are_stored() -> None:
    [shown] = [json.loads(block.text) for block in blocks(ROOT / "docs/extend/own-code.md") if block.language == "json"]
    stored = code_of(resolve({"task": {"name": "permuted_digits", "profile": "smoke"}}))
    assert (list(shown), list(shown["parts"])) == (list(stored), list(stored["parts"]))


def test_entry_point_is_shown_as_the_example_has_it() -> None:
    shown = [block.text for block in blocks(ROOT / "docs/extend/package.md") if block.title == "pyproject.toml"]
    example = (ROOT / "examples/mean_absolute_norm/pyproject.toml").read_text(encoding="utf-8")
    assert [tomllib.loads(text)["project"]["entry-points"] for text in shown] == [
        tomllib.loads(example)["project"]["entry-points"]
    ]


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

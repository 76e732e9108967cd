"""Every command of ours in a document exists with its options, also where no test runs it.

The command line itself parses ``normbench …``, and the parsers of our programs parse ``python -m …``. ``make …`` has
its target. Variables and extras that a document names are declared.
"""

import re
import shlex
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer

from normbench.cli import app
from normcore.variables import KNOWN, PREFIX
from tests.documents import DOCUMENTS, FENCE, ROOT, blocks, blocks_of, commands, name_of

OURS = ("normbench", "make", "python", "python3", "pytest")
BEFORE = re.compile(r"do|then|\w+=.*")
"""Words before a command: keywords of the shell, and variables with their values."""
QUOTED = re.compile(rf"`((?:\w+=\S+ )*(?:\.venv/bin/)?(?:{'|'.join(OURS)}) [^`]+)`")
CLI = typer.main.get_command(app)
VARIABLE = re.compile(rf"\b{PREFIX}(\w+)")
RENAMED = {"RING_AGAIN_SECONDS"}  # the changelog has the old name
EXTRAS = re.compile(r"(?:normbench|(?<=[\s'])\.)\[([\w,-]+)\]")
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MISTAKES = {
    "normbench leaderbord permuted_digits": "no command of normbench: leaderbord",
    "normbench data lst": "no command of normbench: data lst",
    "normbench keys": "no command of normbench: keys",
    "cat s.yaml | normbench submit - --wiat": "--wiat",
    "for s in a b; do normbench status a b c; done": "unexpected extra argument",
    "normbench report-card": "Missing parameter: method",
    "normbench export board permuted_digits --profil smoke > board.csv": "--profil",
    "normbench up --workers many": "valid integer",
    "normbench submit examples/nowhere/*.yaml": "no file examples/nowhere",
    "pytest tests/nothing.py -k layer_norm": "no file tests/nothing.py",
    "make tests": "no target of make: tests",
    "pytest tests/guide/test_commands.py::test_nothing": "no test test_nothing",
    "make fast PYTEST_OPTIONS='tests/nothing.py -x'": "no file tests/nothing.py",
    "A=1 B='2 3' make tests": "no target of make: tests",
    ".venv/bin/pytest tests/nothing.py": "no file tests/nothing.py",
    "python -m benchmarks.nothing": "no module benchmarks.nothing",
    "python3 -m benchmarks.nothing": "no module benchmarks.nothing",
    "python -m benchmarks --onyl faults": "no option --onyl",
    "python -m benchmarks.against --seed 1 HEAD": "no option --seed",
    "python -m benchmarks --only submiting": "invalid choice: 'submiting'",
    "python -m benchmarks.kernels.curves --seeds many": "invalid int value: 'many'",
    "python -m benchmarks.kernels.before": "required: commit",
    "python -m benchmarks.background_job go": "invalid choice: 'go'",
}
MISTAKES_IN_NAMES = {
    "`pip install normbench[sever]`": "no extra sever",
    "pip install -e '.[all,worker,gpus]'": "no extra gpus",
    "Set `NORMBENCH_DATADIR` before.": "no variable NORMBENCH_DATADIR",
}


def split(command: str) -> Iterator[list[str]]:
    """Split a line of a shell into commands, and yield the words of ours, without redirections."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(";|&"):
            program = words[0].removeprefix(".venv/bin/") if words else ""
            if program in OURS:
                yield [program, *words[1 : words.index(">") if ">" in words else None]]
            words = []
        elif words or not BEFORE.fullmatch(word):
            words.append(word)


def in_sentences(text: str) -> list[str]:
    """Commands of ours in the sentences of a document."""
    return QUOTED.findall(FENCE.sub("", text))


def check(command: str, *, complete: bool) -> None:
    """Check the commands of ours in a line of a shell. Only a ``complete`` command has all its arguments."""
    for program, *words in split(command):
        if program == "normbench":
            parse(words, complete)
        elif program == "make":
            targets = [word for word in words if "=" not in word]
            missing = [target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]
            assert not missing, f"no target of make: {missing[0]}"
            for word in words:
                if word.startswith("PYTEST_OPTIONS="):
                    check_tests(shlex.split(word.partition("=")[2]))
        elif program == "pytest":
            check_tests(words)
        elif "-m" in words:
            check_module(*words[words.index("-m") + 1 :], complete=complete)


def check_tests(words: list[str]) -> None:
    """Check that the files among pytest's arguments exist, and have the function that is named after ``::``."""
    for word in words:
        path, _, names = word.partition("::")
        if path.startswith("tests/"):
            assert (ROOT / path).exists(), f"no file {path}"
            function = names.rpartition("::")[2].partition("[")[0]
            assert not names or f"def {function}(" in (ROOT / path).read_text("utf-8"), f"no test {function} in {path}"


def parse(words: list[str], complete: bool) -> None:
    """Parse a command of normbench, and run nothing of it."""
    command: Any = CLI
    context = CLI.make_context("normbench", words[:1])
    for k, name in enumerate(words):
        command = getattr(command, "commands", {}).get(name)
        assert command, f"no command of normbench: {' '.join(words[: k + 1])}"
        if not hasattr(command, "commands"):
            files = [word for word in words if word.startswith("examples/")]
            missing = [file for file in files if not any(ROOT.glob(file))]
            assert not missing, f"no file {missing[0]}"
            try:
                command.make_context(name, words[k + 1 :], parent=context)
            except typer.BadParameter as error:
                if complete or type(error).__name__ != "MissingParameter":
                    raise
            return
    assert not complete, f"no command of normbench: {' '.join(words)}"


def check_module(name: str, *words: str, complete: bool) -> None:
    """Check that a module of ours can be run, that its text names the options, and that its parser takes all words."""
    module = ROOT / name.replace(".", "/")
    text = [file.read_text("utf-8") for file in (module.with_suffix(".py"), module / "__main__.py") if file.is_file()]
    assert text or name in sys.stdlib_module_names, f"no module {name}"
    missing = [word for word in words if text and word.startswith("--") and f'"{word}"' not in text[0]]
    assert not missing, f"no option {missing[0]} of python -m {name}"
    if text and "ArgumentParser" in text[0]:
        main = import_module(f"{name}.__main__" if module.is_dir() else name).main
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ArgumentParser, "parse_args", parse_only)
            patch.setattr(ArgumentParser, "error", lambda parser, told: report(told, complete))
            with pytest.raises(ParserDone):
                main(words)


class ParserDone(Exception):
    """Exception that ends a program of ours as soon as its arguments are parsed."""


def parse_only(parser: ArgumentParser, words: Sequence[str]) -> NoReturn:
    """Parse arguments as ``parse_args`` does, and end the program."""
    _, rest = parser.parse_known_args(words)
    assert not rest, f"unexpected extra argument: {rest[0]}"
    raise ParserDone


def report(fault: str, complete: bool) -> NoReturn:
    """Report a parser's error. A command that is not ``complete`` may lack arguments."""
    raise ValueError(fault) if complete or "arguments are required" not in fault else ParserDone


def check_names(text: str) -> None:
    """Check that variables and extras in a document are declared."""
    for name in VARIABLE.findall(text):
        assert name in KNOWN | RENAMED, f"no variable {PREFIX}{name}"
    for extra in ",".join(EXTRAS.findall(text)).split(","):
        assert extra in {*DECLARED, ""}, f"no extra {extra}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_of_a_document_exists(document: Path) -> None:
    for block in blocks(document):
        for command in commands(block.text) if block.language == "sh" else ():
            check(command, complete=True)
    for command in in_sentences(document.read_text(encoding="utf-8")):
        check(command, complete=False)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_variables_and_extras_in_a_document_are_declared(document: Path) -> None:
    check_names(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_NAMES.items())
def test_mistake_in_a_name_is_reported(text: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_names(text)


@pytest.mark.parametrize(("command", "told"), MISTAKES.items())
def test_mistake_in_a_command_is_reported(command: str, told: str) -> None:
    with pytest.raises(Exception, match=re.escape(told)):
        check(command, complete=True)


def test_command_in_a_sentence_may_lack_arguments() -> None:
    check("normbench report-card --no-measure", complete=False)
    with pytest.raises(Exception, match="--no-mesure"):
        check("normbench report-card --no-mesure", complete=False)


@pytest.mark.parametrize("command", ["A=1 B=2 python -m benchmarks", ".venv/bin/pytest -x", "python3 -m venv .venv"])
def test_command_is_found_in_a_sentence(command: str) -> None:
    assert in_sentences(f"Type `{command}`, not `make`.") == [command]


def test_block_without_a_language_is_reported() -> None:
    with pytest.raises(AssertionError, match="write the language behind"):
        list(blocks_of("```sh\nls\n```\n\n```\nnormbench submit\n```\n"))

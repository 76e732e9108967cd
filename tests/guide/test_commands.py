"""Every command of ours in a document exists with its options, also where no test runs it.

The command line itself parses ``normbench …``. ``make …`` has its target, ``python -m …`` its module and options.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from normbench.cli import app
from tests.documents import DOCUMENTS, FENCE, ROOT, blocks, blocks_of, commands, name_of

OURS = ("normbench", "make", "python", "python3", "pytest")
BEFORE = re.compile(r"do|then|\w+=.*")
"""Words before a command: keywords of the shell, and variables with their values."""
QUOTED = re.compile(rf"`((?:\w+=\S+ )*(?:\.venv/bin/)?(?:{'|'.join(OURS)}) [^`]+)`")
CLI = typer.main.get_command(app)
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
            check_module(*words[words.index("-m") + 1 :])


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


def check_module(name: str, *words: str) -> None:
    """Check that a module of ours can be run, and that its text names the options."""
    module = ROOT / name.replace(".", "/")
    text = [file.read_text("utf-8") for file in (module.with_suffix(".py"), module / "__main__.py") if file.is_file()]
    assert text or name in sys.stdlib_module_names, f"no module {name}"
    missing = [word for word in words if text and word.startswith("--") and f'"{word}"' not in text[0]]
    assert not missing, f"no option {missing[0]} of python -m {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_of_a_document_exists(document: Path) -> None:
    for block in blocks(document):
        for command in commands(block.text) if block.language == "sh" else ():
            check(command, complete=True)
    for command in in_sentences(document.read_text(encoding="utf-8")):
        check(command, complete=False)


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

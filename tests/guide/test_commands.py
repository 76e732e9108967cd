"""Every command of ours in a document exists with its options, also where no test runs it.

The command line itself parses ``normbench …``. ``make …`` has its target, ``python -m …`` its module and options.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from normbench.cli import app
from tests.documents import DOCUMENTS, FENCE, ROOT, blocks, blocks_of, commands, name_of

OURS = ("normbench", "make", "python", "pytest")
KEYWORDS = ("do", "then")
QUOTED = re.compile(rf"`((?:{'|'.join(OURS)}) [^`]+)`")
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
    "python -m benchmarks.nothing": "no module benchmarks.nothing",
    "python -m benchmarks --onyl faults": "no option --onyl",
}


def split(command: str) -> Iterator[list[str]]:
    """Split a line of a shell into commands, and yield the words of ours, without redirections."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|&>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(";|&"):
            if words and words[0].removeprefix(".venv/bin/") in OURS:
                yield words[: words.index(">") if ">" in words else None]
            words = []
        elif words or word not in KEYWORDS:
            words.append(word)


def check(command: str, *, complete: bool) -> None:
    """Check the commands of ours in a line of a shell. Only a ``complete`` command has all its arguments."""
    for program, *words in split(command):
        if program.endswith("normbench"):
            parse(words, complete)
        elif program == "make":
            targets = [word for word in words if "=" not in word]
            missing = [target for target in targets if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]
            assert not missing, f"no target of make: {missing[0]}"
        elif program.endswith("pytest"):
            missing = [word for word in words if word.startswith("tests/") and not (ROOT / word).exists()]
            assert not missing, f"no file {missing[0]}"
        elif "-m" in words:
            check_module(*words[words.index("-m") + 1 :])


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
    assert text, f"no module {name}"
    missing = [word for word in words if word.startswith("--") and f'"{word}"' not in text[0]]
    assert not missing, f"no option {missing[0]} of python -m {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_of_a_document_exists(document: Path) -> None:
    for block in blocks(document):
        for command in commands(block.text) if block.language == "sh" else ():
            check(command, complete=True)
    for command in QUOTED.findall(FENCE.sub("", document.read_text(encoding="utf-8"))):
        check(command, complete=False)


@pytest.mark.parametrize(("command", "told"), MISTAKES.items())
def test_mistake_in_a_command_is_reported(command: str, told: str) -> None:
    with pytest.raises(Exception, match=re.escape(told)):
        check(command, complete=True)


def test_command_in_a_sentence_may_lack_arguments() -> None:
    check("normbench report-card --no-measure", complete=False)
    with pytest.raises(Exception, match="--no-mesure"):
        check("normbench report-card --no-mesure", complete=False)


def test_block_without_a_language_is_reported() -> None:
    with pytest.raises(AssertionError, match="write the language behind"):
        list(blocks_of("```sh\nls\n```\n\n```\nnormbench submit\n```\n"))

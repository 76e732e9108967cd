"""Every command of ours in a document exists with its options, also where no test runs it.

The command line itself parses ``normbench …``, and the parsers of our programs parse ``python -m …``. ``make …`` has
its target, and ``curl`` a call of the HTTP API. A block names no program that is not listed here, and a sentence no
program whose name is a misspelt name of ours.
"""

import re
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer

from normbench.cli import app
from normbench.cli.command import DIFFERS, DIVERGED, FAILED
from tests.documents import DOCUMENTS, FENCE, ROOT, blocks, commands, name_of
from tests.guide.http_calls import check_call

OURS = ("normbench", "make", "python", "python3", "pytest", "pip", "curl")
"""Programs whose arguments are checked."""
OTHERS = (
    *("aws", "docker", "git", "pg_dump", "pre-commit"),
    *(".", "cat", "cd", "cp", "diff", "echo", "export", "for", "grep", "head", "mkdir", "sed", "sleep", "test", "true"),
)
PIP = ("download", "freeze", "install", "list", "show", "uninstall", "wheel")
"""Commands of pip."""
BEFORE = re.compile(r"if|then|elif|else|fi|while|until|do|done|!|\{|\}|time|exec|\w+=.*")
"""Words before a command or alone: keywords of the shell, and variables with their values."""
VENV = re.compile(r"(?:\./)?\.venv/bin/")
"""Folder of programs in the environment of a clone."""
INLINE = re.compile(r"`([^`]+)`")
PUNCTUATION = ";|&<>()"
"""Characters of a shell that end a word."""
REDIRECTION = re.compile(r"[<>&|]*[<>][<>&|]*")
"""Redirection of a shell. The next word is its target."""
INSIDE = re.compile(r"\$\(([^()]*)\)")
"""Command whose output is an argument of another command."""
CLI = typer.main.get_command(app)
SERVICE = re.compile(r"(?:(?:http://)?[\w.-]+:8000|\$\{?NORMBENCH_URL\}?)(?=/|$)")
"""Address of a service."""
FAILING = re.compile(r"--fail(-with-body)?|-[a-zA-Z]*f[a-zA-Z]*")
"""Option with which curl exits 22 if the service refuses the call."""
SENDING = re.compile(r"-d.*|--data(-.*)?|--json")
"""Option with which curl sends a body, so that the call is a POST."""
STATUSES = {"not succeed|run failed": FAILED, "seeds of an experiment diverged": DIVERGED, "[Ss]ome .*differ": DIFFERS}
"""Exit statuses by what pages say of them. All else is 0."""
STATUS = re.compile(r"(?:exit status |^\| )(\d+)((?:: | means | \| )[^.]+)", re.IGNORECASE | re.MULTILINE)
"""Exit status in a sentence or in a table, and what it means."""
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MISTAKES = {
    "normbench leaderbord permuted_digits": "no command of normbench: leaderbord",
    "normbench data lst": "no command of normbench: data lst",
    "normbench keys": "no command of normbench: keys",
    "cat s.yaml | normbench submit - --wiat": "--wiat",
    "for s in a b; do normbench status a b c; done": "unexpected extra argument",
    "normbench report-card": "Missing parameter: method",
    "normbench export board permuted_digits --profil smoke > board.csv": "--profil",
    "normbench export board permuted_digits > board.csv --profil smoke": "--profil",
    "normbench status 2>&1 --stat queued | cat": "--stat",
    "normbench submit - --wiat < spec.yaml": "--wiat",
    "if normbench keys; then echo yes; fi": "no command of normbench: keys",
    "until ! normbench keys; do sleep 1; done": "no command of normbench: keys",
    "while true; do time normbench keys; done": "no command of normbench: keys",
    "(cd /tmp && exec normbench keys)": "no command of normbench: keys",
    "(normbench keys) > keys": "no command of normbench: keys",
    "{ normbench keys; }": "no command of normbench: keys",
    "id=$(normbench keys)": "no command of normbench: keys",
    'echo "of $(normbench keys | head -1)"': "no command of normbench: keys",
    "diff <(normbench keys) old": "no command of normbench: keys",
    "./.venv/bin/normbench keys": "no command of normbench: keys",
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
    "curl -s http://127.0.0.1:8000/v1/queue": "write curl -sf",
    'curl -sN --max-time 3 "$NORMBENCH_URL/v1/runs/run_…/events"': "write curl -sf",
    "curl -sf http://127.0.0.1:8000/healthy": "no call GET /healthy",
    'curl -sf "$NORMBENCH_URL/v1/queue" -d \'{"a": 1}\'': "no call POST /v1/queue",
    "curl -sf -X DELETE 'http://host:8000/v1/experiments/exp_…'": "no call DELETE /v1/experiments/exp_…",
    "curl -sf 'http://127.0.0.1:8000/v1/leaderboards/permuted_digits?profil=smoke'": "no parameter profil",
    "python -m benchmarks.background_job go": "invalid choice: 'go'",
    "pyton -m benchmarks.kernels": "no program pyton",
    "mv a b": "no program mv",
    "pip instal normbench[gpu]": "no command of pip: instal",
    ".venv/bin/pip -q instal pre-commit": "no command of pip: instal",
}


def split(command: str) -> Iterator[list[str]]:
    """Split a line of a shell into commands, and yield their words, without redirections and the folder ``.venv``."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace_split = True
    words: list[str] = []
    is_target = False
    for word in [*lexer, ";"]:
        for inside in INSIDE.findall(word):
            yield from split(inside)
        if is_target:
            is_target = False
        elif REDIRECTION.fullmatch(word):
            is_target = True
            if words and words[-1] in ("1", "2"):  # as in 2>
                words.pop()
        elif word and set(word) <= set(PUNCTUATION):
            if words:
                yield words
            words = []
        elif words or not BEFORE.fullmatch(word):
            words.append(word if words else VENV.sub("", word))


def is_misspelt(program: str) -> bool:
    """Say whether a name is not a known program, but close to a program of ours."""
    return program not in (*OURS, *OTHERS) and bool(get_close_matches(program, OURS, cutoff=0.75))


def in_sentences(text: str) -> list[str]:
    """Commands of ours with arguments in the sentences of a document, also if the program is misspelt."""
    return [code for code in INLINE.findall(FENCE.sub("", text)) if has_command(code)]


def has_command(code: str) -> bool:
    """Say whether a code has a command of ours with arguments, also if the program is misspelt."""
    try:
        return any(len(words) > 1 and (words[0] in OURS or is_misspelt(words[0])) for words in split(code))
    except ValueError:  # no closing quotation
        return code.startswith(tuple(f"{name} " for name in OURS))


def check(command: str, *, complete: bool) -> None:
    """Check the commands in a line of a shell. A ``complete`` command has all arguments, and a known program."""
    for program, *words in split(command):
        is_known = program in (*OURS, *OTHERS) if complete else not is_misspelt(program)
        assert is_known, f"no program {program}; OTHERS lists those that are not ours"
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
        elif program == "pip":
            names = [word for word in words if not word.startswith("-")]
            assert names[:1] == [] or names[0] in PIP, f"no command of pip: {names[0]}"
        elif program == "curl":
            check_curl(words)
        elif program in OURS and "-m" in words:
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


def check_curl(words: list[str]) -> None:
    """Check that curl fails if our service refuses the call, and that the service has the call."""
    method = "POST" if any(SENDING.fullmatch(word) for word in words) else "GET"
    for option in {"-X", "--request"} & {*words}:
        method = words[words.index(option) + 1]
    for address in filter(SERVICE.match, words):
        assert any(FAILING.fullmatch(word) for word in words), "write curl -sf, as curl -s exits 0 on a refusal"
        check_call(method, SERVICE.sub("", address))


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


@pytest.mark.parametrize(("page", "count"), [("submit", 4), ("timing", 3)])
def test_exit_statuses_of_a_page_are_those_of_the_commands(page: str, count: int) -> None:
    found = STATUS.findall((ROOT / f"docs/use/{page}.md").read_text(encoding="utf-8"))
    assert len(found) == count
    for status, told in found:
        [known] = [known for words, known in STATUSES.items() if re.search(words, told)] or [0]
        assert int(status) == known, told


def test_command_in_a_sentence_may_lack_arguments() -> None:
    check("normbench report-card --no-measure", complete=False)
    for command, told in (
        ("normbench report-card --no-mesure", "--no-mesure"),
        ("normbnech open", "program normbnech"),
    ):
        with pytest.raises(Exception, match=told):
            check(command, complete=False)


@pytest.mark.parametrize(
    "command",
    [
        "A=1 B=2 python -m benchmarks",
        ".venv/bin/pytest -x",
        "./.venv/bin/pytest -x",
        "python3 -m venv .venv",
        "! normbench status",
        "cat spec.yaml | normbench submit -",
        "id=$(normbench status)",
        "normbench submit 'spec.yaml",
        "normbnech open",
    ],
)
def test_command_is_found_in_a_sentence(command: str) -> None:
    assert in_sentences(f"Type `{command}`, not `make`.") == [command]

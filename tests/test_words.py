"""The check of the language finds each kind of fault, with its line."""

import subprocess
from pathlib import Path

import pytest

from tools.words import __main__ as words
from tools.words.modules import faults_of_module
from tools.words.rules import fault_of_subject
from tools.words.texts import (
    faults_of_comments,
    faults_of_cpp,
    faults_of_document,
    faults_of_hash_comments,
    faults_of_template,
)

LONG = "one two three four five six seven eight nine ten " * 3 + "more."
TWO_LINES = LONG.replace("six", "six\n", 1)


def lines_of(source: str, name: str = "normcore/losses.py") -> list[int]:
    return [fault.line for fault in faults_of_module(name, source)]


def test_participles_are_no_names_of_modules() -> None:
    assert lines_of("", "normcore/described.py") == [1]
    assert lines_of("", "tests/test_cells_written.py") == [1]
    assert lines_of("", "normcore/models/feed_forward.py") == []


def test_participles_are_no_names_of_classes() -> None:
    assert lines_of("class Stored:\n    pass\n\n\nclass _Drawn:\n    pass") == [1, 5]
    assert lines_of("class StoredSweep:\n    pass\n\n\nclass CodeEdited(Exception):\n    pass") == []
    assert lines_of("class Started:\n    pass", "normcore/events.py") == []


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    for first in ("Of all entries.", "Whether a run ended.", "They are sorted.", "It ends."):
        assert lines_of(f'def f():\n    """{first}"""') == [2], first
    assert lines_of('def f():\n    """Items of a list."""') == []


def test_sentences_of_docstrings_and_comments_are_short() -> None:
    assert lines_of(f'"""Sum of all.\n\n{LONG}\n"""') == [1]
    first, second = TWO_LINES.splitlines()
    assert lines_of(f"x = 1\n# {first}\n# {second}\n") == [2]
    assert lines_of(f"x = 1  # {first}\ny = 2  # {second}\n") == []  # two comments
    assert lines_of(f'"""Table of all.\n\n    {LONG}\n\nEnd.\n"""') == []  # code
    for section in ("Args:", "Attributes:", "Raises:", "Returns:"):
        broken = TWO_LINES.replace("\n", "\n        ")
        assert lines_of(f'"""Sum.\n\n{section}\n    x: short.\n    y: {broken}\n"""') == [1], section
        assert lines_of(f'"""Sum.\n\n{section}\n    x: {LONG[:90]}\n    y: {LONG[:90]}\n"""') == [], section
    assert lines_of(f'"""Sum.\n\n- short\n- {LONG}\n"""') == [1]


def test_sentences_of_documents_are_short() -> None:
    def lines(source: str) -> list[int]:
        return [fault.line for fault in faults_of_document("README.md", source)]

    assert lines(f"# Title\n\nShort.\n\n{TWO_LINES}\n") == [5]
    assert lines(f"- one\n- {LONG}\n") == [2]
    assert lines(f"# Title\n\n```\n{LONG}\n```\n\n{LONG}\n") == [7]
    assert lines(f"| a | b |\n|---|---|\n| short | {LONG} |\n") == [3]
    assert lines(f"Run `{LONG}` now, and see [here](a b c {LONG}).\n") == []


def test_sentences_of_strings_are_short() -> None:
    assert lines_of(f'x = 1\nraise ValueError("{LONG}")') == [2]
    assert lines_of(f'Field(\n    description="{LONG[:90]}"\n    "{LONG[90:]}"\n)') == [2]
    assert lines_of(f'x = f"{LONG.replace("seven", "{a[0]} {b!r}")}"') == [1]
    assert lines_of(f'x = "{LONG}"', "tests/test_words.py") == []


def test_sentences_of_templates_are_short() -> None:
    def lines(source: str) -> list[int]:
        return [fault.line for fault in faults_of_template("page.html", source)]

    long, short = LONG, LONG[:90]
    assert lines(f"<p>Short.</p>\n<p>\n  {long}\n</p>\n") == [3]
    assert lines(f"{{# {long} #}}\n<p>{long.replace('two', '<b>two</b> {{ value }}')}</p>") == [1, 2]
    assert lines(f"<p>{short}</p><p>{short}</p>") == []
    assert lines(f"<p>{short} {{{{ {short} }}}}</p>\n<style>\n{long}</style>") == []


def test_sentences_of_comments_in_other_languages_are_short() -> None:
    def lines(source: str) -> list[int]:
        return [fault.line for fault in faults_of_comments("kernel.cpp", source)]

    first, second = TWO_LINES.splitlines()
    assert lines(f"int x;\n  // {first}\n  // {second}\nint y;\n") == [2]
    assert lines(f"int x;  // {first}\nint y;  // {second}\n") == []
    assert lines(f"int x;\n\n/* {first}\n * {second} */\n") == [3]


def test_sentences_of_comments_after_a_hash_are_short() -> None:
    def lines(source: str) -> list[int]:
        return [fault.line for fault in faults_of_hash_comments("Makefile", source)]

    first, second = TWO_LINES.splitlines()
    assert lines(f"all:\n  # {first}\n  # {second}\n\ttouch $@\n") == [2]
    assert lines(f"a: 1  # {LONG}\n") == [1]
    assert lines(f"a: 1  # {first}\nb: 2  # {second}\n") == []
    assert lines(f"a: 'x#{LONG}'\n") == []


@pytest.mark.parametrize(
    "declaration",
    [
        "struct Line {",
        "template <class Cell>",
        "#define RARE cold",
        "int width() const { return w; }",
        "void run(int a) {",
    ],
)
def test_comments_above_declarations_in_cpp_begin_with_a_verb_or_a_noun(declaration: str) -> None:
    def lines(source: str) -> list[int]:
        return [fault.line for fault in faults_of_cpp("kernel.hpp", source)]

    assert lines(f"int x;\n\n  // Where the vectors\n  // stand.\n  {declaration}\n") == [3]
    assert lines(f"// Places of the vectors.\n{declaration}\n") == []
    assert lines(f"// Where the vectors stand.\n\n{declaration}\n") == []
    assert lines("// If there is padding, stay.\nif (mask) {\n") == []
    assert lines(f"// Sum. {LONG}\n{declaration}\n") == [1]


@pytest.mark.parametrize("name", [".ci/run", "Makefile", "Dockerfile", "docker-compose.yml", "kernel.hpp", "a/b.yaml"])
def test_files_of_each_kind_are_read(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(f"{'//' if name.endswith('hpp') else '#'} {LONG}\n")
    subprocess.run("git init -q && git add .", shell=True, cwd=tmp_path, check=True)
    monkeypatch.setattr(words, "ROOT", tmp_path)
    assert [(fault.file, fault.line) for fault in words.faults_of_files()] == [(name, 1)]


def test_subjects_are_short_and_imperative() -> None:
    assert fault_of_subject("Refuse duplicate keys") is None
    for subject in ("Refused duplicate keys", "refuse duplicate keys", "Refuse duplicate keys.", f"Refuse {'x' * 66}"):
        assert fault_of_subject(subject) is not None, subject

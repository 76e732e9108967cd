"""Files of a run as its page reads them, and how much of them."""

import json
from pathlib import Path

import pytest

from service.artifacts import Artifacts
from service.experiments import examples
from service.experiments.contents import FIGURE_BYTES, LOG_BYTES, read_contents

DONE = examples.RUN.model_copy(update={"id": "run_1", "attempt": 2})
RUNNING = DONE.model_copy(update={"state": "running"})


@pytest.fixture
def store(tmp_path: Path) -> Artifacts:
    return Artifacts(str(tmp_path))


def test_a_run_without_files_has_nothing_to_show(store: Artifacts) -> None:
    found = read_contents(store, DONE)
    assert (found.listed, found.log, found.texts, found.figures) == ([], None, [], [])


def test_the_log_is_that_of_the_newest_attempt_without_control_characters(store: Artifacts) -> None:
    store.write("run_1", 1, "log.txt", b"first\n")
    found = read_contents(store, RUNNING).log
    assert found is not None
    assert (found.attempt, found.file, found.lines, found.is_whole) == (1, "1.log.txt", ["first"], True)
    store.write("run_1", 2, "log.txt", b"\x1b[31mred\x1b[0m \x00caf\xc3\xa9\xff\r\nlast\n")
    found = read_contents(store, RUNNING).log
    assert found is not None
    assert (found.attempt, found.file, found.lines) == (2, "log.txt", ["red café\ufffd", "last"])


def test_a_long_log_is_cut_to_whole_lines_at_its_end(store: Artifacts) -> None:
    store.write("run_1", 2, "log.txt", b"".join(b"line %d\n" % k for k in range(1000)))
    found = read_contents(store, RUNNING).log
    assert found is not None
    assert found.lines == [f"line {k}" for k in range(800, 1000)]
    assert not found.is_whole
    store.write("run_1", 2, "log.txt", b"x" * (3 * LOG_BYTES) + b"\n" + b"y" * 5000 + b"\nend\n")
    found = read_contents(store, RUNNING).log
    assert found is not None
    assert found.lines == ["y" * 1000, "end"]


def test_texts_and_figures_are_read_once_the_run_has_succeeded(store: Artifacts) -> None:
    store.write("run_1", 2, "sample.txt", b"a" * 9000)
    store.write("run_1", 2, "figures/curves.json", b"{}")
    store.write("run_1", 2, "figures/broken.json", b"{")
    store.write("run_1", 2, "figures/matrix.json", json.dumps({"data": []}).encode())
    store.write("run_1", 2, "figures/painting.json", b"[" + b" " * FIGURE_BYTES + b"]")
    running = read_contents(store, RUNNING)
    assert (running.texts, running.figures) == ([], [])
    found = read_contents(store, DONE)
    assert [(text.file, len(text.text), text.is_whole) for text in found.texts] == [("sample.txt", 8192, False)]
    assert [(one.name, one.content, one.is_large) for one in found.figures] == [
        ("broken", None, False),
        ("matrix", {"data": []}, False),
        ("painting", None, True),
    ]


def test_a_run_shows_only_the_first_of_many_figures(store: Artifacts) -> None:
    for k in range(9):
        store.write("run_1", 2, f"figures/f{k}.json", b"{}")
    assert [one.name for one in read_contents(store, DONE).figures] == [f"f{k}" for k in range(6)]

"""One ``normbench up`` at a time has a data directory. The next one waits only for one that is ending."""

import threading
from pathlib import Path

import pytest

from service.processes import sole_use as module
from service.processes.sole_use import sole_use
from service.processes.startup import StartupError


def notes() -> list[str]:
    return []


def test_directory_of_a_process_that_goes_on_is_refused_without_a_wait(tmp_path: Path) -> None:
    told = notes()
    with sole_use(tmp_path, told.append), pytest.raises(StartupError, match=r"already \(process \d+\); use that one"):
        sole_use(tmp_path, told.append).__enter__()
    assert told == []


def test_process_that_is_ending_is_waited_for_with_one_line(tmp_path: Path) -> None:
    told, waits, entered = notes(), threading.Event(), threading.Event()

    def note(text: str) -> None:
        told.append(text)
        waits.set()

    def enter() -> None:
        with sole_use(tmp_path, note):
            entered.set()

    following = threading.Thread(target=enter)
    with sole_use(tmp_path, note) as begin_to_end:
        begin_to_end()
        following.start()
        assert waits.wait(30)
        assert not entered.is_set()
    following.join(30)
    assert entered.is_set()
    assert len(told) == 1
    assert str(tmp_path) in told[0]
    assert "which is ending" in told[0]


def test_process_that_does_not_end_in_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENDING_PATIENCE", 0.0)
    with sole_use(tmp_path, print) as begin_to_end:
        begin_to_end()
        with pytest.raises(StartupError, match=r"\(process \d+\) in .* has not ended in 0 s; try again when it has"):
            sole_use(tmp_path, print).__enter__()


def test_process_that_was_killed_while_it_was_ending_does_not_make_others_wait(tmp_path: Path) -> None:
    with sole_use(tmp_path, print) as begin_to_end:
        begin_to_end()
    told = notes()
    with sole_use(tmp_path, told.append), pytest.raises(StartupError, match="use that one"):
        sole_use(tmp_path, told.append).__enter__()
    assert told == []

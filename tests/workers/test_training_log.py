"""The log of a training: it is stored while it grows, and its end is never replaced by an older part."""

from pathlib import Path

import pytest

from service.artifacts import LOG, Artifacts
from service.errors import NotFound
from tests.processes import until
from workers import training_log
from workers.training_log import keep, kept_while_it_grows


def stored(store: Path) -> str:
    try:
        return Artifacts(str(store)).read("run_1", 2, LOG).decode()
    except NotFound:
        return ""


def test_a_log_is_stored_while_it_grows_and_whole_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_log, "LOOK_SECONDS", 0.02)
    log, store = tmp_path / "log", tmp_path / "store"
    log.write_text("step 1\n")
    with kept_while_it_grows(str(store), "run_1", 2, log):
        until(lambda: stored(store) == "step 1\n", 30, lambda: "it was not stored")
        log.write_text("step 1\nstep 2\n")
        until(lambda: stored(store) == "step 1\nstep 2\n", 30, lambda: "it was not stored again")
    log.write_text("step 1\nstep 2\nthe end\n")
    keep(str(store), "run_1", 2, log)
    assert stored(store) == "step 1\nstep 2\nthe end\n"


def test_a_store_that_takes_nothing_does_not_end_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_log, "LOOK_SECONDS", 0.02)
    log, store = tmp_path / "log", tmp_path / "store"
    log.write_text("step 1\n")
    store.write_text("a file where the folder should be")
    with kept_while_it_grows(str(store), "run_1", 2, log):
        log.write_text("step 1\nstep 2\n")
        store.unlink()  # from now on it takes files
        until(lambda: stored(store) == "step 1\nstep 2\n", 30, lambda: "it was not stored")

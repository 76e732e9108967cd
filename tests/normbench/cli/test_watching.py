"""Experiments are watched until they have ended."""

import json
import re
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app, command
from normcore.events import Analysed, Finding
from service.db import Database
from service.experiments import lifecycle
from tests.normbench.cli.commands import SECONDS, command_process, from_json, normbench
from tests.normbench.script_server import AWAY, HANG_UP, Answer, scripted
from tests.processes import until
from tests.service.sample_runs import MAX_STEPS, begun, claimed, failed, finished, measured, recorded, written

TASK = {"name": "char_lm", "metric": {"name": "bits_per_char"}}


def test_waiting_ends_with_the_runs_and_tells_of_failures(api: str, spec_file: Path, db: Database) -> None:
    made = from_json("submit", spec_file)
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease, "no such kernel")
    result = CliRunner().invoke(app, ["watch", made["id"], "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "failed"
    assert "no such kernel" in result.stderr
    assert "(seed 1) failed" in result.stderr


def test_waiting_for_a_cancelled_experiment_says_so_and_fails(api: str, spec_file: Path) -> None:
    made = from_json("submit", spec_file)
    normbench("cancel", made["id"])
    result = CliRunner().invoke(app, ["watch", made["id"]])
    assert result.exit_code == 1
    assert made["id"] in result.stdout
    assert re.search(r"0/80 +cancelled", result.stdout), "no full bar for what was cancelled"
    assert "(seed 0) was cancelled" in result.stderr


def diverging(db: Database, *steps: int | None) -> None:
    """End the next runs: each diverges at its step; None completes the run."""
    for step in steps:
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(step or MAX_STEPS))
        finished(db, lease, "diverged" if step else "completed")


def test_an_experiment_that_diverged_altogether_ends_with_status_2_and_no_full_bar(
    api: str, spec_file: Path, db: Database
) -> None:
    made = from_json("submit", spec_file)
    diverging(db, 10, 12)
    result = CliRunner().invoke(app, ["watch", made["id"]])
    assert result.exit_code == 2
    assert re.search(r" 22/80 diverged at step 10 to 12\n", result.stdout), result.stdout
    assert "succeeded" not in result.stdout
    assert re.search(r"run_\w+ \(seed 0\) diverged at step 10\n", result.stderr)
    assert re.search(r"run_\w+ \(seed 1\) diverged at step 12\n", result.stderr)
    assert "diverged at step 10" in normbench("status", made["id"])


def test_watch_ends_with_2_only_if_all_seeds_of_an_experiment_diverged(api: str, spec_file: Path, db: Database) -> None:
    partly, lost = (from_json("submit", spec_file)["id"] for _ in range(2))
    diverging(db, 10, 20, None, 20)
    by_id = {id: [run["outcome"] for run in from_json("status", id)["runs"]] for id in (partly, lost)}
    assert by_id == {partly: ["diverged", "completed"], lost: ["diverged", "diverged"]}
    result = CliRunner().invoke(app, ["watch", partly])
    assert result.exit_code == 0
    assert re.search(r" 50/80 succeeded  1 of 2 diverged at step 10  test accuracy 0\.500\n", result.stdout)
    assert CliRunner().invoke(app, ["watch", partly, lost]).exit_code == 2


def test_the_id_is_printed_before_waiting_begins(api: str, environment: dict[str, str], spec_file: Path) -> None:
    for options in (["--wait"], ["--wait", "--json"]):
        waiting = command_process({**environment, "NORMBENCH_URL": api}, "submit", str(spec_file), *options)
        try:
            told = waiting.stderr if "--json" in options else waiting.stdout
            assert told is not None
            first = told.readline()
            assert re.match(r"exp_\w{26}  2 runs of permuted_digits", first), first
        finally:
            waiting.send_signal(signal.SIGINT)
            waiting.communicate(timeout=SECONDS)


def test_ctrl_c_says_that_the_training_goes_on_and_how_to_come_back() -> None:
    run = {
        "state": "running",
        "result": None,
        "progress": {"step": 1, "max_steps": 9, "eta_seconds": 3.0, "phase": None},
    }
    spec = {**written(), "kind": "training"}
    experiment = {"id": "exp_1", "state": "running", "runs": [run], "name": "layer_norm", "spec": spec}
    with scripted(Answer(experiment), Answer({"items": [TASK]}), Answer(experiment)) as script:
        waiting = command_process({"NORMBENCH_URL": script.url}, "watch", "exp_1", "--json")
        until(lambda: len(script.requests) > 2, SECONDS, lambda: "it never asked")
        waiting.send_signal(signal.SIGINT)
        printed, told = waiting.communicate(timeout=SECONDS)
    assert (waiting.returncode, printed) == (130, "")
    assert "note: the training goes on" in told.splitlines(), "not beside the bar"
    assert "normbench watch exp_1" in told
    assert "normbench cancel exp_1" in told
    assert "Traceback" not in told


def test_waiting_sits_out_a_service_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {
        "id": "exp_1",
        "state": "succeeded",
        "runs": [],
        "name": "layer_norm",
        "spec": {**written(), "kind": "training"},
    }
    with scripted(AWAY, HANG_UP, Answer(ended), Answer({"items": []})) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        monkeypatch.setattr(command, "PATIENCE", 0.0)
        assert from_json("watch", "exp_1")["id"] == "exp_1"
    assert len(script.requests) == 4


def test_findings_of_an_analysis_are_shown_when_it_has_ended(api: str, tmp_path: Path, db: Database) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("task: {name: fisher_geometry}\n")
    made = from_json("submit", spec)
    lease = claimed(db).lease
    claim = "E[Cov[y|x] [x;1] [/x]]"  # brackets are text, not markup
    finding = Finding("blocks.layer_norm", 0.25, "relative [/x] error", claim=claim, holds=False, source="LN Eq. 13")
    with db.transaction() as session:
        lifecycle.finish_analysis(session, lease, Analysed([finding], 1.0))
    shown = normbench("watch", made["id"])
    lines = [line.split() for line in shown.splitlines()]
    assert ["blocks.layer_norm", "0.25", "E[Cov[y|x]", "[x;1]", "[/x]]", "NO", "LN", "Eq.", "13"] in lines
    assert ["Measured", "is", "relative", "[/x]", "error."] in lines
    assert "fisher_geometry" in normbench("status")

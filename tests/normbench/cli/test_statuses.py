"""Exit statuses, one line for each that a command's help documents, against a real service."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from normbench.cli.command import DIFFERS, DIVERGED, FAILED, INTERRUPTED, MISUSED
from service.db import Database
from service.report_cards.examples import REPORT_CARD
from tests.normbench.cli.commands import from_json
from tests.normbench.script_server import Answer, scripted
from tests.service.sample_runs import claimed, failed, finished, worker

GOOD, BAD = "task: {name: permuted_digits, profile: smoke}\n", "task: {name: permuted_digit}\n"
SWEEP = f"spec: {{{GOOD.strip()}}}\ngrid: {{norm.method: [none, layer_norm]}}\n"


def test_each_exit_status_has_its_documented_number() -> None:
    assert (FAILED, MISUSED, DIVERGED, DIFFERS, INTERRUPTED) == (1, 2, 2, 3, 130)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in {"good": GOOD, "bad": BAD, "sweep": SWEEP}.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    return tmp_path


def status(*arguments: object) -> int:
    """Exit status of a command. An exception is raised, because the runner's exit status would be 1."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False).exit_code


def test_an_answered_command_ends_with_0_and_a_refused_one_with_2(api: str, files: Path) -> None:
    id = from_json("submit", files / "good.yaml")["id"]
    run = from_json("status", id)["runs"][0]["id"]
    sweep = from_json("sweep", files / "sweep.yaml")["id"]
    statuses = {
        command: status(*command.replace("DIR", str(files)).split())
        for command in (
            *(f"status {id}", "status", f"status {sweep}", "status --sweeps", f"logs {run}", "tasks", "methods"),
            *("submit DIR/good.yaml --dry-run", "sweep DIR/sweep.yaml --dry-run", "leaderboard permuted_digits"),
            *("leaderboard overall", "claims", "report-card none --no-measure", f"cancel {id}", f"retry {id}"),
            *(f"cancel {sweep}", f"retry {sweep}", "data list", "--version", "migrate"),
        )
    }
    refused = {
        command: status(*command.replace("DIR", str(files)).split())
        for command in (
            *("submit DIR/bad.yaml", "submit DIR/none.yaml", "sweep DIR/good.yaml", "status exp_1", "logs run_1"),
            *("watch exp_1", "cancel exp_1", "retry exp_1", "leaderboard permuted_digit", "compare none layer_norm"),
            *("compare 00000000 11111111", "claim DIR/good.yaml", "withdraw res_1", "replay run_1", f"watch {run}"),
            *("report-card norm", "open nothing", "submit", "no-such-command", "data list no_such", "export board x"),
            *("submit DIR/good.yaml --wait --dry-run", "up --device gpu", "data fetch no_such"),
        )
    }
    assert {command: found for command, found in statuses.items() if found != 0} == {}
    assert {command: found for command, found in refused.items() if found != 2} == {}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (("completed", "completed"), 0),
        (("completed", "diverged"), 0),
        (("diverged", "diverged"), DIVERGED),
        (("failed", "diverged"), FAILED),
        (("failed", "completed"), FAILED),
        (("cancelled",), FAILED),
    ],
)
def test_the_status_of_waiting_tells_how_the_runs_ended(
    api: str, files: Path, db: Database, ends: tuple[str, ...], expected: int
) -> None:
    (files / "two.yaml").write_text(f"{GOOD}seeds: [0, 1]\n")
    id = from_json("submit", files / "two.yaml")["id"]
    for end in ends:
        if end == "cancelled":
            assert status("cancel", id) == 0
        elif end == "failed":
            failed(db, claimed(db).lease)
        else:
            finished(db, claimed(db).lease, "diverged" if end == "diverged" else "completed")
    assert status("watch", id) == expected


def test_a_report_card_ends_with_1_if_an_analysis_failed(api: str, db: Database) -> None:
    with worker(db, lambda run: failed(db, run.lease)):
        failing = CliRunner().invoke(app, ["report-card", "none"], catch_exceptions=False)
    assert failing.exit_code == FAILED
    assert re.search(r"normbench: run_\w+ \(seed 0\) failed: no such kernel\n", failing.stderr)
    assert status("report-card", "none", "--no-measure") == 0


def test_a_report_card_with_all_analyses_ends_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(Answer({**REPORT_CARD.model_dump(mode="json"), "cells": {}, "missing": []})) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        assert status("report-card", "layer_norm") == 0


def test_the_help_of_a_report_card_names_its_status() -> None:
    told = " ".join(CliRunner().invoke(app, ["report-card", "--help"]).stdout.split())
    assert "Exit status: 1 if an analysis failed or was cancelled." in told


def test_a_replay_ends_with_1_if_the_second_run_failed(api: str, db: Database, files: Path) -> None:
    run = from_json("submit", files / "good.yaml")["runs"][0]["id"]
    finished(db, claimed(db).lease)
    with worker(db, lambda run: failed(db, run.lease)):
        failing = CliRunner().invoke(app, ["replay", run], catch_exceptions=False)
    assert failing.exit_code == FAILED
    assert "failed: no such kernel" in failing.stderr

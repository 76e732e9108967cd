"""The command line: answers on standard output, complaints on standard error, JSON where asked for."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from normcore.data import registry
from normcore.events import Analysed, Finding
from normcore.run import run
from normcore.spec import resolve
from normcore.spec.methods import METHODS
from normcore.spec.tasks import TASKS
from normbench.cli import app
from service.db import Database
from service.experiments import lifecycle
from service.leaderboards import entries
from service.settings import Settings
from tests.servers import free_port
from tests.service.given import MAX_STEPS, claimed, failed, finished, written
from tests.service.live import live_api

SECONDS = 60.0


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """What is tested here is the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    return {
        "NORMBENCH_DATA_DIR": str(settings.data_dir),
        "NORMBENCH_DATABASE_URL": settings.database_url,
        "NORMBENCH_DATASETS_DIR": str(settings.datasets_dir),
        "NORMBENCH_BROKER_URL": settings.broker_url,
        "NORMBENCH_ARTIFACTS_URL": settings.artifacts_url,
        "NORMBENCH_API_KEY": "",
        "COLUMNS": "200",
    }


@pytest.fixture
def api(settings: Settings, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A live service that the commands find."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with live_api(settings) as url:
        monkeypatch.setenv("NORMBENCH_URL", url)
        yield url


@pytest.fixture
def nobody(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no service runs."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NORMBENCH_URL", f"http://127.0.0.1:{free_port()}")


def normbench(*arguments: object, status: int = 0, text: str | None = None) -> str:
    """What the command prints on standard output; with another status than 0, on standard error."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    if status != 0:
        assert result.stderr.startswith("normbench: "), result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr
    return result.stdout


def from_json(*arguments: object) -> Any:
    return json.loads(normbench(*arguments, "--json"))


@pytest.fixture
def spec_file(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text("task: {name: permuted_digits, profile: smoke}\nnorm: {method: layer_norm}\nseeds: [0, 1]\n")
    return path


def test_a_spec_is_submitted_shown_and_cancelled(api: str, spec_file: Path, db: Database) -> None:
    made = from_json("submit", spec_file)
    assert [run["seed"] for run in made["runs"]] == [0, 1]
    assert made["spec"]["norm"]["method"] == "layer_norm"
    assert from_json("status", made["id"]) == made
    assert [e["id"] for e in from_json("status")] == [made["id"]]
    assert made["id"] in normbench("status")
    assert f"0/{MAX_STEPS}" in normbench("status", made["id"])
    assert from_json("cancel", made["id"])["state"] == "cancelled"
    assert from_json("retry", made["id"])["state"] == "queued"
    assert normbench("cancel", made["id"]).strip() == f"{made['id']}: cancelled"
    assert normbench("submit", spec_file).startswith("exp_")


def test_a_key_makes_submitting_again_harmless(api: str, spec_file: Path) -> None:
    first = from_json("submit", spec_file, "--idempotency-key", "k")
    assert from_json("submit", spec_file, "--idempotency-key", "k")["id"] == first["id"]


def test_waiting_ends_with_the_runs_and_tells_of_failures(api: str, spec_file: Path, db: Database) -> None:
    made = from_json("submit", spec_file)
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease, "no such kernel")
    result = CliRunner().invoke(app, ["watch", made["id"], "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "failed"
    assert "no such kernel" in result.stderr
    assert "(seed 1) failed" in result.stderr


def test_a_leaderboard_is_shown_as_a_table_or_as_json(api: str, spec_file: Path, db: Database) -> None:
    normbench("submit", spec_file)
    for value in (0.8, 0.9):
        lease = claimed(db).lease
        fingerprint = finished(db, lease, value=value)
        with db.transaction() as session:
            entries.refresh(session, fingerprint)
    board = from_json("leaderboard", "permuted_digits", "--profile", "smoke", "--rank-by", "steps_to_target")
    assert board["rank_by"] == "steps_to_target"
    assert board["entries"][0]["value"]["mean"] == pytest.approx(0.85)
    shown = normbench("leaderboard", "permuted_digits", "--profile", "smoke")
    assert "layer_norm" in shown
    assert "0.85" in shown


def test_a_report_card_shows_table_1_as_measured(api: str, db: Database) -> None:
    analysis = resolve({"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    *_, analysed = run(analysis, 0)
    assert isinstance(analysed, Analysed)
    with db.transaction() as session:
        lifecycle.submit(session, analysis, request_digest="")
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.finish_analysis(session, lease, analysed)

    lines = [line.split() for line in normbench("report-card", "layer_norm", "--no-measure").splitlines()]
    assert ["measured", "yes", "yes", "no", "yes", "no", "yes"] in lines
    assert ["LN", "Table", "1", "yes", "yes", "no", "yes", "no", "yes"] in lines
    assert ["step_cost", "in", "gru", "is", "not", "measured", "yet"] in lines
    card = from_json("report-card", "layer_norm", "--no-measure")
    assert len(card["missing"]) == 9
    assert "no_norm" in normbench("report-card", "no_norm", status=2)


def test_what_an_analysis_found_is_shown_when_it_has_ended(api: str, tmp_path: Path, db: Database) -> None:
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


def test_the_catalogue_is_shown(api: str) -> None:
    assert [task["name"] for task in from_json("tasks")] == list(TASKS)
    assert [method["name"] for method in from_json("methods")] == list(METHODS)
    assert "permuted_digits" in normbench("tasks")
    assert "recurrent_batch_norm" in normbench("methods")


def test_what_the_service_refuses_goes_to_standard_error_with_status_2(api: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("task: {name: permuted_digits}\nnorm: {method: layer_nrom}\nseeds: []\n")
    message = normbench("submit", wrong, status=2)
    assert "norm.method" in message
    assert "seeds" in message
    assert "exp_nope" in normbench("status", "exp_nope", status=2)
    assert "exp_nope" in normbench("cancel", "exp_nope", "--json", status=2)
    assert "nope" in normbench("leaderboard", "nope", status=2)
    assert "baseline" in normbench("leaderboard", "permuted_digits", "--baseline", "nope", status=2)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe\x00",
        b"task: [unclosed",
        b"- just\n- a list\n",
        b"",
        b"task: {name: permuted_digits}\ntraining: {target: .nan}\n",
        b"task: {name: permuted_digits}\nlabels: {day: 2026-01-01}\n",
        b"&a [*a]",
        b"a: !!python/object/apply:os.system [true]\n",
        b"[" * 1500,
    ],
)
def test_a_file_that_holds_no_spec_is_an_error_for_people(api: str, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(content)
    assert normbench("submit", path, status=2)
    assert from_json("status") == []


def test_a_file_that_is_not_there_is_an_error_for_people(api: str, tmp_path: Path) -> None:
    assert "spec.yaml" in normbench("submit", tmp_path / "spec.yaml", status=2)
    assert normbench("submit", tmp_path, status=2)


def test_without_a_service_it_says_how_to_start_one(nobody: None, spec_file: Path) -> None:
    for arguments in (
        ["submit", spec_file],
        ["status"],
        ["cancel", "exp_1"],
        ["tasks"],
        ["leaderboard", "x"],
        ["report-card", "x"],
    ):
        assert "normbench up" in normbench(*arguments, status=2)
    assert "normbench up" in normbench("report-card", "x", status=2)


def test_keys_are_made_listed_and_revoked_without_a_service(nobody: None) -> None:
    assert from_json("keys", "list") == []
    made = from_json("keys", "create", "ada")
    assert made["name"] == "ada"
    assert made["key"].startswith("nb_")
    (listed,) = from_json("keys", "list")
    assert (listed["id"], listed["name"], listed["revoked_at"]) == (made["id"], "ada", None)
    assert made["key"] not in normbench("keys", "list")
    assert from_json("keys", "revoke", made["id"]) == {"id": made["id"], "revoked": True}
    assert from_json("keys", "list")[0]["revoked_at"] is not None
    assert "key_nope" in normbench("keys", "revoke", "key_nope", status=2)


def test_a_keys_name_fits_its_column_on_every_database(nobody: None) -> None:
    for name in ("a" * 101, "", "a\nb"):
        assert "100" in normbench("keys", "create", name, status=2)
    assert from_json("keys", "create", "a" * 100)["name"] == "a" * 100


def test_data_sets_are_listed_and_checked_without_a_service(nobody: None) -> None:
    listed = {item["name"]: item["status"] for item in from_json("data", "list")}
    assert set(listed) == set(registry.DATASETS)
    assert listed["digits"] == "bundled"
    assert listed["mnist"] == "missing"
    assert from_json("data", "verify", "digits") == {"verified": ["digits"]}
    assert "normbench data fetch mnist" in normbench("data", "verify", "mnist", status=2)
    assert from_json("data", "fetch", "digits") == {"digits": []}


def test_the_database_can_be_brought_up_to_date(nobody: None) -> None:
    assert from_json("migrate") == {"database": "up to date"}


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))  # type: ignore[arg-type]
        else:
            yield (*path, name), command


def test_every_command_has_help_and_can_answer_in_json() -> None:
    root: Any = typer.main.get_command(app)
    found = dict(commands(root))
    assert {" ".join(path) for path in found} == {
        "up",
        "demo",
        "submit",
        "watch",
        "status",
        "cancel",
        "retry",
        "leaderboard",
        "report-card",
        "tasks",
        "methods",
        "data list",
        "data fetch",
        "data verify",
        "keys create",
        "keys list",
        "keys revoke",
        "api",
        "worker",
        "scheduler",
        "migrate",
    }
    for path, command in found.items():
        assert command.help, path
        options = {name for parameter in command.params for name in parameter.opts}
        assert "--json" in options, path
        result = CliRunner().invoke(app, [*path, "--help"])
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def command(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NORMBENCH_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "normbench", *arguments],
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("arguments", "changes", "named"),
    [
        (["migrate"], {"NORMBENCH_LEASE_SECONDS": "soon"}, "NORMBENCH_LEASE_SECONDS"),
        (["migrate"], {"NORMBENCH_DATA_DIR": "/proc/normbench"}, "NORMBENCH_DATA_DIR"),
        (["api", "--host", "0.0.0.0"], {}, "normbench keys create"),
    ],
)
def test_a_process_that_cannot_start_says_why_in_one_line(
    environment: dict[str, str], arguments: list[str], changes: dict[str, str], named: str
) -> None:
    process = command({**environment, **changes}, *arguments)
    printed, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert printed == ""
    assert complaint.startswith("normbench: ")
    assert named in complaint
    assert len(complaint.splitlines()) == 1


def test_the_api_tells_where_it_listens_and_stops_when_told_to(environment: dict[str, str]) -> None:
    port = free_port()
    process = command(environment, "api", "--port", str(port), "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"url": f"http://127.0.0.1:{port}"}
        taken = command(environment, "api", "--port", str(port))
        assert "--port" in taken.communicate(timeout=SECONDS)[1]
        assert taken.returncode == 2
    finally:
        process.send_signal(signal.SIGTERM)
        _, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, -signal.SIGTERM)
    assert complaint == ""


def test_a_spec_is_read_from_standard_input(api: str, environment: dict[str, str]) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NORMBENCH_")}
    result = subprocess.run(
        [sys.executable, "-P", "-m", "normbench", "submit", "-", "--json"],
        input=json.dumps(written()),
        env={**kept, **environment, "NORMBENCH_URL": api},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert json.loads(result.stdout)["state"] == "queued"

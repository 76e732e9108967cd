"""The command line: answers on standard output, complaints on standard error, JSON where asked for."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from normbench.cli import app, command, demo
from normcore.data import registry
from normcore.events import Analysed, Finding
from normcore.run import run
from normcore.spec import resolve
from normcore.spec.methods import METHODS
from normcore.spec.tasks import TASKS
from service.db import Database
from service.experiments import lifecycle, submission
from service.leaderboards import entries
from service.settings import Settings
from tests.normbench.scripted import AWAY, HANG_UP, Answer, scripted
from tests.processes import until
from tests.servers import free_port
from tests.service.given import MAX_STEPS, begun, claimed, failed, finished, written
from tests.service.live import live_api

SECONDS = 60.0
TASK = {"name": "char_lm", "metric": {"name": "bits_per_char"}}


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
    monkeypatch.setattr(command, "PATIENCE", 0.0)


def normbench(*arguments: object, status: int = 0, text: str | None = None) -> str:
    """What the command prints on standard output; where it fails, on standard error."""
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
    assert re.fullmatch(
        r"(exp_\w+)  2 runs of permuted_digits layer_norm; normbench watch \1\n", normbench("submit", spec_file)
    )


def test_several_files_are_submitted_at_once(api: str, spec_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(spec_file.read_text().replace("layer_norm", "none"))
    told = [json.loads(line) for line in normbench("submit", spec_file, other, "--json").splitlines()]
    assert [e["spec"]["norm"]["method"] for e in told] == ["layer_norm", "none"]
    assert [e["id"] for e in from_json("status")] == [told[1]["id"], told[0]["id"]]
    assert "one file" in normbench("submit", spec_file, other, "--idempotency-key", "k", status=2)
    other.write_text("[")
    assert "other.yaml" in normbench("submit", spec_file, other, status=2)
    assert len(from_json("status")) == 2, "a file that cannot be read keeps all from being submitted"


def test_a_dry_run_says_what_it_would_take_and_submits_nothing(api: str, spec_file: Path, db: Database) -> None:
    assert "not known yet" in normbench("submit", spec_file, "--dry-run")
    assert from_json("status") == []
    made = from_json("submit", spec_file)
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease)
    lines = [line.split(maxsplit=1) for line in normbench("submit", spec_file, "--dry-run").splitlines()]
    assert ["runs", "2 (seeds 0, 1)"] in [[part.strip() for part in line] for line in lines]
    shown = normbench("submit", spec_file, "--dry-run")
    for name, value in {"measured already": "seed 0", "place in the queue": "2"}.items():
        assert re.search(rf"^  {name} +{value} *$", shown, re.MULTILINE), shown
    assert re.search(r"^  time of a run +[\d.]+ s \(measured: 1 run of this spec on cpu\) *$", shown, re.MULTILINE)
    plan = from_json("submit", spec_file, "--dry-run")
    assert (plan["runs"], plan["measured_seeds"], plan["fingerprint"]) == (2, [0], made["fingerprint"])
    assert len(from_json("status")) == 1


def test_only_new_submits_the_seeds_that_are_not_measured_yet(api: str, spec_file: Path, db: Database) -> None:
    normbench("submit", spec_file)
    finished(db, claimed(db).lease)
    again = CliRunner().invoke(app, ["submit", str(spec_file)])
    assert "seed 0 measured already; --only-new" in again.stderr
    new = CliRunner().invoke(app, ["submit", str(spec_file), "--only-new", "--json"])
    assert [run["seed"] for run in json.loads(new.stdout)["runs"]] == [1]
    assert "seed 0 measured already, left out" in new.stderr
    assert from_json("submit", spec_file, "--only-new", "--dry-run")["spec"]["seeds"] == [1]
    for _ in range(4):
        finished(db, claimed(db).lease)
    nothing = CliRunner().invoke(app, ["submit", str(spec_file), "--only-new", "--wait"])
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "nothing is left to submit" in nothing.stderr
    assert len(from_json("status")) == 3


def test_the_list_of_experiments_can_be_narrowed(api: str, tmp_path: Path, db: Database) -> None:
    ids = {}
    for method in ("none", "layer_norm"):
        spec = tmp_path / f"{method}.json"
        spec.write_text(json.dumps(written(method, labels={"team": method, "a": "b"})))
        ids[method] = from_json("submit", spec)
    normbench("cancel", ids["none"]["id"])

    def found(*options: str) -> list[str]:
        return [e["id"] for e in from_json("status", *options)]

    none, layer_norm = ids["none"]["id"], ids["layer_norm"]["id"]
    assert found("--task", "permuted_digits", "--profile", "smoke") == [layer_norm, none]
    assert found("--method", "none") == [none]
    assert found("--state", "cancelled") == [none]
    assert found("--label", "team:layer_norm", "--label", "a:b") == [layer_norm]
    assert found("--fingerprint", ids["none"]["fingerprint"]) == [none]
    assert found("--limit", "1") == [layer_norm]
    assert "KEY:VALUE" in normbench("status", "--label", "team", status=2)
    assert "state" in normbench("status", "--state", "ended", status=2)


def test_a_runs_history_and_log_lines_are_shown(api: str, spec_file: Path, db: Database, settings: Settings) -> None:
    run_id = from_json("submit", spec_file)["runs"][0]["id"]
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.lose(session, lease, "worker w was killed", max_attempts=5)
    assert "no log lines are stored" in normbench("logs", run_id)
    folder = Path(settings.artifacts_url) / run_id
    folder.mkdir(parents=True)
    told = from_json("logs", run_id)
    assert [(e["attempt"], e["reason"]) for e in told["history"]] == [(1, "worker w was killed")]
    assert told["logs"] == []
    lines = [line.split() for line in normbench("logs", run_id).splitlines()]
    assert any(line[0:1] == ["1"] and line[-4:] == ["worker", "w", "was", "killed"] for line in lines)
    assert any(line[0:1] == ["2"] and line[-1] == "queued" for line in lines)
    assert "run_nope" in normbench("logs", "run_nope", status=2)


def test_the_logs_of_all_attempts_are_shown_the_earliest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {
        "id": "run_1",
        "seed": 0,
        "state": "succeeded",
        "attempt": 11,
        "history": [],
        "created_at": "2026-11-22T01:00:00Z",
        "started_at": None,
        "finished_at": "2026-11-22T01:00:09Z",
        "resumed_from_step": 30,
        "error": None,
        "outcome": "completed",
    }
    names = ["1.log.txt", "10.log.txt", "2.log.txt", "environment.json", "log.txt", "my.log.txt"]
    files = {"items": [{"name": name, "size": 1, "url": ""} for name in names]}
    texts = [Answer(f"attempt {n}\nsays [/x]\n".encode()) for n in (1, 2, 10, 11)]
    with scripted(*[Answer(run), Answer(files), *texts] * 2) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        told = from_json("logs", "run_1")
        shown = normbench("logs", "run_1")
    assert told["logs"] == [{"attempt": n, "lines": [f"attempt {n}", "says [/x]"]} for n in (1, 2, 10, 11)]
    asked = [request.path.rpartition("/")[2] for request in script.requests[2:6]]
    assert asked == ["1.log.txt", "2.log.txt", "10.log.txt", "log.txt"]
    assert "attempt 11:\nattempt 11\nsays [/x]\n" in shown
    assert "succeeded, from step 30: completed" in shown


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


def test_waiting_for_what_was_cancelled_says_so_and_fails(api: str, spec_file: Path) -> None:
    made = from_json("submit", spec_file)
    normbench("cancel", made["id"])
    result = CliRunner().invoke(app, ["watch", made["id"]])
    assert result.exit_code == 1
    assert made["id"] in result.stdout
    assert re.search(r"0/80 +cancelled", result.stdout), "no full bar for what was cancelled"
    assert "(seed 0) was cancelled" in result.stderr


def test_the_id_is_said_before_the_waiting_begins(api: str, environment: dict[str, str], spec_file: Path) -> None:
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
    run = {"state": "running", "result": None, "progress": {"step": 1, "max_steps": 9, "eta_seconds": 3.0}}
    spec = {**written(), "kind": "training"}
    experiment = {"id": "exp_1", "state": "running", "runs": [run], "spec": spec}
    with scripted(Answer(experiment), Answer({"items": [TASK]}), Answer(experiment)) as script:
        waiting = command_process({"NORMBENCH_URL": script.url}, "watch", "exp_1", "--json")
        until(lambda: len(script.requests) > 2, SECONDS, lambda: "it never asked")
        waiting.send_signal(signal.SIGINT)
        printed, told = waiting.communicate(timeout=SECONDS)
    assert (waiting.returncode, printed) == (130, "")
    assert "the training goes on" in told
    assert "normbench watch exp_1" in told
    assert "normbench cancel exp_1" in told
    assert "Traceback" not in told


def test_waiting_sits_out_a_service_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {"id": "exp_1", "state": "succeeded", "runs": [], "spec": {**written(), "kind": "training"}}
    with scripted(AWAY, HANG_UP, Answer(ended), Answer({"items": []})) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        monkeypatch.setattr(command, "PATIENCE", 0.0)
        assert from_json("watch", "exp_1")["id"] == "exp_1"
    assert len(script.requests) == 4


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
    result = CliRunner().invoke(app, ["leaderboard", "permuted_digits", "--profile", "smoke", "--published"])
    assert "no paper has published numbers for permuted_digits at smoke" in result.stderr
    empty = CliRunner().invoke(app, ["leaderboard", "permuted_digits", "--profile", "paper"])
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "no entries at paper; there are some at --profile smoke" in empty.stderr


def test_a_report_card_shows_table_1_as_measured(api: str, db: Database) -> None:
    analysis = resolve({"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    *_, analysed = run(analysis, 0)
    assert isinstance(analysed, Analysed)
    with db.transaction() as session:
        submission.submit(session, analysis, request_digest="")
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.finish_analysis(session, lease, analysed)

    lines = [line.split() for line in normbench("report-card", "layer_norm", "--no-measure").splitlines()]
    table_1 = {
        tuple(line[:-3]): (line[-3], line[-1]) for line in lines if line[-4:-3] in (["re-scaling"], ["re-centering"])
    }
    assert table_1 == {
        ("weight", "matrix", "re-scaling"): ("yes", "yes"),
        ("weight", "matrix", "re-centering"): ("yes", "yes"),
        ("weight", "vector", "re-scaling"): ("no", "no"),
        ("dataset", "re-scaling"): ("yes", "yes"),
        ("dataset", "re-centering"): ("no", "no"),
        ("single", "case", "re-scaling"): ("yes", "yes"),
    }
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
    assert from_json("data", "verify", "digits") == {"verified": ["digits"], "problems": {}}
    assert from_json("data", "fetch", "digits") == {"fetched": {"digits": []}, "problems": {}}


@pytest.mark.parametrize("verb", ["verify", "fetch"])
def test_data_sets_that_cannot_be_had_are_all_told_of_with_where_to_put_their_files(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")  # nothing is downloaded in a test
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{free_port()}")
    corrupt = settings.datasets_dir / "mnist" / "train-images-idx3-ubyte"
    corrupt.parent.mkdir(parents=True)
    corrupt.write_bytes(b"x")
    told = normbench("data", verb, "mnist", "ptb", "digits", status=1)
    complaints = [line for line in told.splitlines() if line.startswith("normbench: ")]
    assert len(complaints) == 2, told
    for name, file in {"mnist": "t10k-labels-idx1-ubyte", "ptb": "ptb.char.valid.txt"}.items():
        assert any(f"'{name}'" in line for line in complaints), told
        by_hand = next(line for line in complaints if line.endswith(f"into {settings.datasets_dir / name}"))
        assert file in by_hand
    result = CliRunner().invoke(app, ["data", verb, "ptb", "digits", "--json"])
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert list(answer["problems"]) == ["ptb"]
    assert "digits" in answer["verified" if verb == "verify" else "fetched"]


def test_the_database_can_be_brought_up_to_date(nobody: None) -> None:
    assert from_json("migrate") == {"database": "up to date"}


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, (*path, name))  # type: ignore[arg-type]
        else:
            yield (*path, name), found


def test_every_command_has_help_and_can_answer_in_json() -> None:
    root: Any = typer.main.get_command(app)
    found = dict(commands(root))
    assert {" ".join(path) for path in found} == {
        "up",
        "demo",
        "submit",
        "watch",
        "status",
        "logs",
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
    for path, one in found.items():
        assert one.help, path
        options = {name for parameter in one.params for name in parameter.opts}
        assert "--json" in options, path
        result = CliRunner().invoke(app, [*path, "--help"])
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def command_process(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
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
    process = command_process({**environment, **changes}, *arguments)
    printed, complaint = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert printed == ""
    assert complaint.startswith("normbench: ")
    assert named in complaint
    assert len(complaint.splitlines()) == 1


def test_the_api_tells_where_it_listens_and_stops_when_told_to(environment: dict[str, str]) -> None:
    port = free_port()
    process = command_process(environment, "api", "--port", str(port), "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"url": f"http://127.0.0.1:{port}"}
        taken = command_process(environment, "api", "--port", str(port))
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


@pytest.mark.parametrize(
    ("absent", "arguments", "extra"),
    [
        ("fastapi", ["api"], "server"),
        ("sqlalchemy", ["keys", "list"], "server"),
        ("torch", ["worker"], "worker"),
        ("torch", ["up"], "all"),
        ("torch", ["demo"], "all"),
    ],
)
def test_what_was_not_installed_is_named_with_its_extra(
    nobody: None, monkeypatch: pytest.MonkeyPatch, absent: str, arguments: list[str], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    told = normbench(*arguments, status=2)
    assert f"({absent})" in told
    assert f"pip install 'normbench[{extra}]'" in told


def test_the_version_is_told() -> None:
    assert normbench("--version") == f"normbench {version('normbench')}\n"


@pytest.mark.parametrize("called", ["normbench", "__main__.py"])
def test_the_demos_advice_works_as_it_stands_wherever_it_is_copied(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "with a space"
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(data_dir))
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name(called))])
    lines = [line.strip() for line in demo.advice(data_dir, 8765).splitlines() if line.startswith("  ")]
    start, *look = [line for line in lines if not line.startswith("http")]
    assert shlex.split(start)[0] == f"NORMBENCH_DATA_DIR={data_dir}"
    assert shlex.split(start)[-3:] == ["up", "--port", "8765"]
    assert look
    assert all(line.startswith("NORMBENCH_URL=http://127.0.0.1:8765 ") for line in look)
    for line in (start, look[0]):
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        helped = subprocess.run(
            ["sh", "-c", f"{line} --help"], cwd="/", env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert helped.returncode == 0, helped.stderr

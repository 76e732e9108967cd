"""Experiments are submitted, shown, cancelled and tried again."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from service.db import Database
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from tests.normbench.cli.commands import SECONDS, from_json, normbench
from tests.normbench.script_server import AWAY, Answer, scripted
from tests.service.sample_runs import MAX_STEPS, begun, claimed, finished, written


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


def test_a_file_that_is_wrong_keeps_all_from_being_submitted_and_each_is_named(
    api: str, spec_file: Path, tmp_path: Path
) -> None:
    contents = {
        "method.yaml": "task: {name: permuted_digits}\nnorm: {method: layer_nrom}\nseeds: []\n",
        "text.yaml": "[",
        "list.yaml": "- a\n- b\n",
        "empty.yaml": "",
        "nan.yaml": "task: {name: permuted_digits}\ntraining: {target: .nan}\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "folder").mkdir()
    wrong = [tmp_path / name for name in (*contents, "absent.yaml", "folder")]
    told = normbench("submit", spec_file, *wrong, spec_file, status=2).removeprefix("normbench: ").splitlines()
    assert any(line.startswith(f"{tmp_path / 'method.yaml'}: norm.method: ") for line in told), told
    assert any(line.startswith(f"{tmp_path / 'method.yaml'}: seeds: ") for line in told), told
    assert f"{tmp_path / 'absent.yaml'}: No such file or directory" in told
    assert f"{tmp_path / 'folder'} is a folder; name its files, such as {tmp_path / 'folder'}/*.yaml" in told
    for name in ("list.yaml", "empty.yaml", "nan.yaml"):
        assert any(line.startswith(f"{tmp_path / name}: ") for line in told), told
    assert any(line.startswith(f"{tmp_path / 'text.yaml'} is neither YAML nor JSON") for line in told), told
    assert str(spec_file) not in "".join(told)
    assert from_json("status") == []


def test_a_file_that_is_refused_only_at_submission_is_named(api: str, spec_file: Path) -> None:
    normbench("submit", spec_file, "--idempotency-key", "k")
    spec_file.write_text(spec_file.read_text().replace("layer_norm", "none"))
    assert normbench("submit", spec_file, "--idempotency-key", "k", status=2).startswith(f"normbench: {spec_file}: ")


def test_a_service_that_is_away_is_not_blamed_on_a_file(nobody: None, spec_file: Path) -> None:
    assert normbench("submit", spec_file, spec_file, status=2).startswith("normbench: no service answers at ")


@pytest.mark.parametrize("answer", [AWAY, Answer({"detail": "the database does not answer"}, 401)])
def test_a_service_that_refuses_every_request_is_not_blamed_on_a_file(
    nobody: None, spec_file: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    with scripted(answer) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        told = normbench("submit", spec_file, spec_file, status=2)
    assert told == "normbench: the database does not answer\n"


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
    assert re.search(r"^  memory of a run +at least \d+ MB; no live worker says what it has *$", shown, re.MULTILINE)
    plan = from_json("submit", spec_file, "--dry-run")
    assert (plan["runs"], plan["measured_seeds"], plan["fingerprint"]) == (2, [0], made["fingerprint"])
    assert len(from_json("status")) == 1


def test_a_dry_run_with_wait_is_refused(api: str, spec_file: Path) -> None:
    assert "leave one of them out" in normbench("submit", spec_file, "--dry-run", "--wait", status=2)


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
    assert from_json("submit", spec_file, "--only-new")["measured_seeds"] == [0, 1]
    assert len(from_json("status")) == 3


def test_experiments_for_a_device_without_a_worker_say_so_on_submit_and_status(
    api: str, spec_file: Path, db: Database
) -> None:
    def beat() -> None:
        with db.transaction() as session:
            registration.heartbeat(session, WorkerIdentity("wrk_1", "host", 1, "cpu", ("auto", "cpu")))

    beat()
    auto = CliRunner().invoke(app, ["submit", str(spec_file)])
    assert (auto.exit_code, auto.stderr) == (0, "")
    spec_file.write_text(spec_file.read_text() + "device: cuda\n")
    beat()
    cuda = CliRunner().invoke(app, ["submit", str(spec_file), str(spec_file), "--json"])
    missing = "no worker for cuda, only for cpu; run `normbench worker --device cuda:0`"
    assert (cuda.exit_code, cuda.stderr) == (0, f"note: {missing}\n")
    made = [json.loads(line)["id"] for line in cuda.stdout.splitlines()]
    beat()
    assert f"waiting: {missing}" in normbench("status", made[0]).splitlines()
    assert from_json("status", made[1])["id"] == made[1]
    normbench("cancel", made[0])
    assert "waiting" not in normbench("status", made[0])


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


def test_cancelling_a_running_experiment_says_that_it_takes_seconds(api: str, spec_file: Path, db: Database) -> None:
    made = from_json("submit", spec_file)
    begun(db, claimed(db).lease)
    told = normbench("cancel", made["id"])
    assert told == f"{made['id']}: being cancelled; its running runs stop within seconds\n"
    assert "waiting" not in normbench("status", made["id"])

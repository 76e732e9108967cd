"""Sweeps on a terminal: planned, submitted, watched, shown, stopped and tried again."""

import json
import re
import signal
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app, command
from service.db import Database
from tests.normbench.cli.commands import SECONDS, command_process, from_json, normbench
from tests.normbench.script_server import AWAY, HANG_UP, Answer, scripted
from tests.processes import until
from tests.service.sample_runs import begun, claimed, failed, finished
from tests.service.sweeps.sample_sweeps import run_all


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "spec:\n  task: {name: permuted_digits, profile: smoke}\n  seeds: [0, 1]\n"
        "grid:\n  norm.method: [none, layer_norm]\n  training.optimizer.lr: [1e-3, 1e-2]\n"
    )
    return path


def test_a_sweep_is_planned_first(api: str, sweep_file: Path) -> None:
    told = normbench("sweep", sweep_file, "--dry-run")
    assert re.search(r"experiments +4 *\n", told)
    assert re.search(r"runs +8 *\n", told)
    assert "not known yet" in told
    assert from_json("sweep", sweep_file, "--dry-run")["n_runs"] == 8
    assert from_json("status", "--sweeps") == []
    assert "--dry-run submits nothing" in normbench("sweep", sweep_file, "--dry-run", "--wait", status=2)


def test_a_sweep_is_submitted_shown_stopped_and_tried_again(api: str, sweep_file: Path, db: Database) -> None:
    told = normbench("sweep", sweep_file)
    line = r"(swp_\w+)  permuted_digits smoke, 4 experiments, 8 runs; normbench watch \1\n"
    found = re.fullmatch(line, told)
    assert found, told
    id = found[1]
    assert from_json("status", id)["id"] == id
    assert len(from_json("status", "--sweep", id)) == 4
    shown = normbench("status", "--sweeps")
    assert id in shown
    assert "method, lr" in shown
    assert "0 of 8" in shown
    assert normbench("cancel", id) == f"{id}: cancelled\n"
    assert normbench("retry", id) == f"{id}: queued\n"
    assert from_json("cancel", id)["state"] == "cancelled"
    assert from_json("retry", id)["progress"]["done"] == 0


def test_cells_are_a_table_of_eighty_columns_with_the_best_one_marked(
    api: str, sweep_file: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = from_json("sweep", sweep_file)["id"]
    gains = {("none", 1e-3): 0.5, ("none", 1e-2): 0.6, ("layer_norm", 1e-3): 0.1, ("layer_norm", 1e-2): 0.9}
    run_all(db, lambda spec, seed: gains[spec["norm"]["method"], spec["training"]["optimizer"]["lr"]] + seed / 100)
    shown = normbench("status", id)
    assert shown.startswith("Too few seeds to say which cell is best: method layer_norm, lr 0.01 has the best")
    assert f"{id}  permuted_digits smoke, 4 experiments, succeeded" in shown.splitlines()
    [best] = [line for line in shown.splitlines() if " * " in line]
    assert re.match(r"method layer_norm, lr 0.01 \*  succeeded  \d\.\d{3}  0.905 \[", best)
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if re.match(r"(none|layer_norm) ", line)}
    assert rows == {"none": ["0.555", "0.605"], "layer_norm": ["0.505", "0.905"]}
    assert (
        "From 2 cells on layer_norm is better than none.\nUncertain: there are few ways to choose 2 cells.\n" in shown
    )
    monkeypatch.setenv("COLUMNS", "80")
    narrow = normbench("status", id)
    assert max(map(len, narrow.splitlines())) <= 80
    assert "method layer_norm, lr 0.01 *" in narrow
    assert "Widen the terminal to see: experiment" in narrow


def test_waiting_shows_progress_then_the_cells(api: str, sweep_file: Path, db: Database) -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            run_all(db, lambda spec, seed: 0.5)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        result = CliRunner().invoke(app, ["sweep", str(sweep_file), "--wait"])
        ended = json.loads(normbench("sweep", sweep_file, "--wait", "--json"))
    finally:
        stop.set()
        worker.join()
    assert result.exit_code == 0, result.output
    assert "8/8" in result.stdout
    assert "method none, lr 0.001" in result.stdout
    assert (ended["state"], len(ended["cells"])) == ("succeeded", 4)
    assert normbench("watch", ended["id"]).splitlines()[0].startswith(ended["id"])


def test_a_sweep_with_an_entirely_diverged_cell_ends_with_status_2_and_names_it(
    api: str, sweep_file: Path, db: Database
) -> None:
    id = from_json("sweep", sweep_file)["id"]
    run_all(db, lambda spec, seed: None if spec["training"]["optimizer"]["lr"] == 1e-2 and seed == 0 else 0.5)
    assert "diverged" not in normbench("watch", id), "one seed of two"
    sweep_file.write_text(
        "spec: {task: {name: sequential_digits, profile: smoke}}\ngrid: {norm.method: [none, rms_norm]}"
    )
    lost = from_json("sweep", sweep_file)["id"]
    run_all(db, lambda spec, seed: None if spec["norm"]["method"] == "none" else 0.5)
    result = CliRunner().invoke(app, ["watch", lost])
    assert result.exit_code == 2
    assert re.fullmatch(r"normbench: method none diverged; normbench status exp_\w+\n", result.stderr)
    assert "2/2 succeeded  1 experiment diverged" in result.stdout
    assert re.search(r"method none +diverged ", result.stdout)
    assert re.search(r"method rms_norm \* +succeeded ", result.stdout)


def test_a_sweep_with_failed_and_diverged_cells_ends_with_status_1_and_names_both(
    api: str, sweep_file: Path, db: Database
) -> None:
    sweep_file.write_text(
        "spec: {task: {name: permuted_digits, profile: smoke}}\ngrid: {norm.method: [none, rms_norm]}"
    )
    id = from_json("sweep", sweep_file)["id"]
    failed(db, claimed(db).lease)
    run_all(db, lambda spec, seed: None)
    result = CliRunner().invoke(app, ["watch", id])
    assert result.exit_code == 1
    lines = r"normbench: method none failed; .*\nnormbench: method rms_norm diverged; .*\n"
    assert re.fullmatch(lines, result.stderr)


def test_errors_of_a_sweep_name_the_file_and_the_cells(api: str, sweep_file: Path, tmp_path: Path) -> None:
    sweep_file.write_text(sweep_file.read_text().replace("training.optimizer.lr", "norm.eps"))
    told = normbench("sweep", sweep_file, status=2).removeprefix("normbench: ").splitlines()
    assert [line.startswith(f"{sweep_file}: grid.norm.eps: does not fit in the cell") for line in told] == [True, True]
    assert "No such file" in normbench("sweep", tmp_path / "absent.yaml", status=2)
    assert from_json("status", "--sweeps") == []


def test_a_sweep_is_watched_alone_and_has_no_logs(nobody: None) -> None:
    assert "is watched alone" in normbench("watch", "swp_1", "exp_1", status=2)
    assert "`normbench status swp_1`" in normbench("logs", "swp_1", status=2)


def test_the_python_client_plans_submits_cancels_and_retries_a_sweep(api: str, sweep_file: Path, db: Database) -> None:
    client = Client(api)
    body = {"spec": {"task": {"name": "permuted_digits", "profile": "smoke"}}, "grid": {"norm.method": ["none"]}}
    assert client.dry_run_sweep(body)["n_runs"] == 1
    made = client.submit_sweep(body, idempotency_key="k")
    assert client.submit_sweep(body, idempotency_key="k") == made
    assert client.sweep(made["id"]) == made
    assert [sweep["id"] for sweep in client.sweeps(page_size=1)] == [made["id"]]
    assert [e["id"] for e in client.experiments(sweep=made["id"])] == [made["cells"][0]["experiment_id"]]
    assert client.cancel_sweep(made["id"])["state"] == "cancelled"
    assert client.retry_sweep(made["id"])["state"] == "queued"
    run_all(db, lambda spec, seed: 0.5)
    assert client.wait_for_sweep(made["id"], timeout=10)["state"] == "succeeded"


def test_ctrl_c_says_that_the_sweep_goes_on_and_how_to_come_back() -> None:
    sweep = {
        "id": "swp_1",
        "state": "running",
        "n_experiments": 2,
        "tasks": [{"name": "permuted_digits", "profile": "smoke"}],
        "progress": {"done": 1, "total": 2, "eta_seconds": 3.0},
        "cells": [],
    }
    with scripted(Answer(sweep)) as script:
        waiting = command_process({"NORMBENCH_URL": script.url}, "watch", "swp_1", "--json")
        until(lambda: len(script.requests) > 1, SECONDS, lambda: "it never asked")
        waiting.send_signal(signal.SIGINT)
        printed, told = waiting.communicate(timeout=SECONDS)
    assert (waiting.returncode, printed) == (130, "")
    assert "1/2" in told
    assert "note: the training goes on" in told.splitlines(), "not beside the bar"
    assert "normbench watch swp_1" in told
    assert "normbench cancel swp_1" in told


def test_waiting_sits_out_a_service_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {
        "id": "swp_1",
        "state": "succeeded",
        "n_experiments": 0,
        "tasks": [{"name": "permuted_digits", "profile": "smoke"}],
        "progress": {"done": 0, "total": 0, "eta_seconds": None},
        "cells": [],
        "grid": {},
        "random": {},
        "metric": None,
        "verdict": {"claim": "No cell has a result.", "detail": ""},
        "best": None,
        "budget_curve": {},
        "budget_flips": [],
    }
    with scripted(AWAY, HANG_UP, Answer(ended)) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        monkeypatch.setattr(command, "PATIENCE", 0.0)
        assert from_json("watch", "swp_1")["id"] == "swp_1"


def test_cells_are_sorted_by_the_validation_value_and_show_it(api: str, sweep_file: Path, db: Database) -> None:
    """Cells have another order by test values, and another by draws."""
    id = from_json("sweep", sweep_file)["id"]
    of_cells = {("none", 1e-3): (0.9, 0.2), ("none", 1e-2): (0.6, 0.5)}  # test, validation
    of_cells |= {("layer_norm", 1e-3): (0.7, 0.4), ("layer_norm", 1e-2): (0.8, 0.3)}
    for _ in range(8):
        claim = claimed(db)
        begun(db, claim.lease)
        spec = claim.spec
        test, valid = of_cells[spec["norm"]["method"], spec["training"]["optimizer"]["lr"]]
        finished(db, claim.lease, value=test, valid_value=valid)
    found = from_json("status", id)
    assert (found["metric"], found["direction"]) == ("accuracy", "maximize")
    rows = [line for line in normbench("status", id).splitlines() if "  succeeded  " in line]
    shown = [re.search(r"succeeded  (0\.\d{3})  (0\.\d{3})", row) for row in rows]
    assert [match and match.groups() for match in shown] == [
        ("0.500", "0.600"),
        ("0.400", "0.700"),
        ("0.300", "0.800"),
        ("0.200", "0.900"),
    ]
    assert [" *  " in row for row in rows] == [True, False, False, False]

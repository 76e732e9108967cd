"""A real service runs a stored run again and compares both."""

import json
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench import Client, Invalid
from normbench.cli import app
from tests.normbench.cli.commands import from_json, normbench
from tests.processes import Service, service


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with service(tmp_path) as started:
        started.work()
        monkeypatch.setenv("NORMBENCH_URL", str(started.http.base_url))
        monkeypatch.setenv("NORMBENCH_API_KEY", "")
        monkeypatch.setenv("COLUMNS", "200")
        yield started


def change_by_one_unit(running: Service, run_id: str) -> None:
    """Change the stored validation loss at step 20 in its last place."""
    with sqlite3.connect(running.folder / "data" / "normbench.db") as database:
        where = "run_id = ? AND series = 'valid.loss' AND step = 20"
        [value] = database.execute(f"SELECT value FROM measurements WHERE {where}", [run_id]).fetchone()
        new = math.nextafter(value, math.inf)
        database.execute(f"UPDATE measurements SET value = ? WHERE {where}", [new, run_id])
    database.close()


def test_a_run_gives_the_same_numbers_again_and_a_number_that_was_changed_is_found(running: Service) -> None:
    experiment = running.submit("recurrent_batch_norm", seeds=(3, 4))
    running.wait_succeeded(experiment)
    run_id = experiment["runs"][1]["id"]

    shown = normbench("replay", run_id)
    assert f"repeats {run_id}" in shown
    assert "(seed 4) are identical: 5 series, 17 points" in shown
    [again] = running.get("/v1/experiments", label=f"replay_of:{run_id}")["items"]
    assert again["fingerprint"] == experiment["fingerprint"]
    assert (again["spec"]["seeds"], again["spec"]["device"]) == ([4], "cpu")
    [entry] = running.get("/v1/leaderboards/permuted_digits", profile="smoke")["entries"]
    assert (entry["n_runs"], entry["n_seeds"], entry["conflicting_seeds"]) == (3, 2, []), "one seed, one vote"

    change_by_one_unit(running, run_id)
    told = json.loads(normbench_that_differs(run_id))
    [deviation] = told["deviations"]
    assert (told["identical"], told["changed"]) == (False, [])
    assert (deviation["series"], deviation["from_step"], deviation["differing"]) == ("valid.loss", 20, 1)
    assert 0 < deviation["largest"] < 1e-14
    with Client() as client:
        assert client.replay(experiment["runs"][0]["id"])["identical"]


def normbench_that_differs(run_id: str) -> str:
    """Output of a command that exits with 3."""
    result = CliRunner().invoke(app, ["replay", run_id, "--json"])
    assert result.exit_code == 3, result.output
    return result.stdout


def test_a_run_that_has_not_succeeded_cannot_be_replayed(api: str, spec_file: Path) -> None:
    experiment = from_json("submit", spec_file)
    run_id = experiment["runs"][0]["id"]
    refused = normbench("replay", run_id, status=2)
    assert f"{run_id} is queued; name a run that has succeeded, to compare with" in refused
    with Client() as client, pytest.raises(Invalid):
        client.replay(run_id)
    assert len(from_json("status")) == 1
    assert "is an experiment, but this command takes a run" in normbench("replay", experiment["id"], status=2)

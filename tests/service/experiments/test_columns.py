"""Exported experiments and measurements have the same values as the JSON answers."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet
from starlette.testclient import TestClient

from service.db import Database
from service.experiments.columns import EXPERIMENTS_EXAMPLE, MEASUREMENTS_EXAMPLE, RUNS_EXAMPLE
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, submitted, submitted_analysis

LIST = "/v1/experiments"


def rows_of(answer: Any) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def names(example: str) -> list[str]:
    return next(csv.reader([example.splitlines()[0]]))


def test_a_list_of_experiments_says_what_the_json_says(client: TestClient, db: Database) -> None:
    submitted(db, "none", seeds=[3, 4], labels={"note": '=1+1,"\u00e9 😀'}, priority=7)
    submitted_analysis(db, {"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    finished(db, claimed(db).lease, "diverged", value=None)
    shown = client.get(LIST).json()["items"]
    rows = rows_of(client.get(LIST, params={"format": "csv"}))
    assert len(rows) == len(shown) == 2
    for row, item in zip(rows, shown, strict=True):
        spec = item["spec"]
        assert (row["id"], row["fingerprint"], row["state"]) == (item["id"], item["fingerprint"], item["state"])
        assert (row["task"], row["profile"]) == (spec["task"]["name"], spec["task"]["profile"])
        assert (row["method"], row["device"], int(row["priority"])) == (
            spec["norm"]["method"],
            spec["device"],
            spec["priority"],
        )
        assert {name: json.loads(row[name]) for name in ("spec", "labels", "seeds")} == {
            "spec": spec,
            "labels": spec["labels"],
            "seeds": spec["seeds"],
        }
        by_state = {name.partition(".")[2]: int(row[name]) for name in row if name.startswith("runs_by_state.")}
        assert {state: n for state, n in by_state.items() if n} == item["runs_by_state"]
        assert int(row["n_diverged"]) == item["n_diverged"]
        assert row["created_at"] == item["created_at"]
    assert [row["n_diverged"] for row in rows] == ["0", "1"]
    assert set(names(EXPERIMENTS_EXAMPLE)) <= set(rows[0])


def test_an_experiment_is_a_row_for_each_run(client: TestClient, db: Database) -> None:
    experiment = submitted(db, seeds=[3, 4])
    finished(db, claimed(db).lease)
    shown = client.get(f"{LIST}/{experiment.id}").json()["runs"]
    rows = rows_of(client.get(f"{LIST}/{experiment.id}", params={"format": "csv"}))
    for row, run in zip(rows, shown, strict=True):
        assert (row["experiment_id"], row["id"], int(row["seed"])) == (experiment.id, run["id"], run["seed"])
        assert (row["state"], row["outcome"] or None) == (run["state"], run["outcome"])
        assert json.loads(row["result"] or "null") == run["result"]
    done, waiting = rows
    assert float(done["result.value"]) == shown[0]["result"]["value"]
    assert waiting["result.value"] == ""
    assert set(names(RUNS_EXAMPLE)) <= set(done)


def test_runs_of_an_analysis_have_no_value(client: TestClient, db: Database) -> None:
    experiment = submitted_analysis(db, {"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    [row] = rows_of(client.get(f"{LIST}/{experiment.id}", params={"format": "csv"}))
    assert (row["state"], row["result.value"], row["result.metric"]) == ("queued", "", "")


def test_a_file_of_experiments_comes_in_pages_like_the_list(client: TestClient, db: Database) -> None:
    known = [submitted(db, labels={"a": "1", "b": "x y"}).id for _ in range(5)]
    submitted(db)
    query: Any = {"format": "csv", "limit": 2, "label": ["a:1", "b:x y"]}
    found, answer = [], client.get(LIST, params=query)
    found += [row["id"] for row in rows_of(answer)]
    while "link" in answer.headers:
        address, _, relation = answer.headers["link"].partition("; ")
        assert relation == 'rel="next"'
        answer = client.get(address.strip("<>"))
        found += [row["id"] for row in rows_of(answer)]
    assert found == known[::-1]


def test_measurements_have_a_row_for_each_value(client: TestClient, db: Database) -> None:
    run_id, lease = submitted(db, seeds=[9]).runs[0].id, claimed(db).lease
    begun(db, lease)
    thirds = {"valid__accuracy": 1 / 3, "train__loss": 2 / 3}
    recorded(db, lease, measured(5, **thirds), measured(10, valid__accuracy=0.1 + 0.2))
    path = f"/v1/runs/{run_id}/measurements"
    shown = client.get(path).json()["series"]
    rows = rows_of(client.get(path, headers={"Accept": "text/csv"}))
    assert [
        (row["series"], row["unit"], int(row["step"]), float(row["value"]), float(row["seconds"])) for row in rows
    ] == [(name, curve["unit"], *point) for name, curve in shown.items() for point in curve["points"]]
    assert len(rows) == 3
    experiment_id = client.get(f"/v1/runs/{run_id}").json()["experiment_id"]
    assert {(row["experiment_id"], row["run_id"], row["seed"]) for row in rows} == {(experiment_id, run_id, "9")}
    assert set(names(MEASUREMENTS_EXAMPLE)) <= set(rows[0])
    one = rows_of(client.get(path, params={"format": "csv", "series": "train.loss"}))
    assert [row["series"] for row in one] == ["train.loss"]
    answer = client.get(path, params={"format": "parquet"})
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.parquet"'
    found = pyarrow.parquet.read_table(io.BytesIO(answer.content)).to_pylist()
    assert [(row["step"], row["value"]) for row in found] == [(5, 2 / 3), (5, 1 / 3), (10, 0.1 + 0.2)]

"""A sweep as a file has its JSON's numbers, and each varied field under its own name."""

import csv
import io
import json
from io import BytesIO
from typing import Any

import pyarrow.parquet
from starlette.testclient import TestClient

from service.db import Database
from service.sweeps.columns import FILE_EXAMPLE, SWEEPS_EXAMPLE
from tests.service.sweeps.sample_sweeps import LR, posted, run_all, stored

GRID: dict[str, list[Any]] = {"norm.method": ["none", "layer_norm"], LR: [1e-3, 2e-3]}


def test_cells_of_an_exported_sweep_are_those_of_the_json(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, posted(GRID))
    run_all(db, lambda spec, seed: spec["training"]["optimizer"]["lr"] * 100)
    path = f"/v1/sweeps/{sweep_id}"
    sweep = client.get(path).json()
    answer = client.get(path, params={"format": "csv"})
    assert answer.headers["content-disposition"] == f'attachment; filename="{sweep_id}.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert set(next(csv.reader([FILE_EXAMPLE.splitlines()[0]]))) - {"values.norm.gain_init"} <= set(rows[0])
    assert len(rows) == 4
    for row, cell in zip(rows, sweep["cells"], strict=True):
        assert {field: json.loads(row[f"values.{field}"]) for field in GRID} == cell["values"]
        assert (row["experiment_id"], row["state"]) == (cell["experiment_id"], "succeeded")
        assert float(row["entry.value.mean"]) == cell["entry"]["value"]["mean"]
        assert row["entry.method"] == cell["entry"]["method"]
    assert [row["best"] for row in rows] == [str(cell == sweep["best"]).lower() for cell in sweep["cells"]]
    assert [row["best"] for row in rows].count("true") == 1


def test_parquet_has_types_and_a_cell_that_is_not_measured_has_nulls(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, posted(GRID))
    answer = client.get(f"/v1/sweeps/{sweep_id}", headers={"Accept": "application/vnd.apache.parquet"})
    table = pyarrow.parquet.read_table(BytesIO(answer.content))
    assert table.schema.field("entry.value.mean").type == pyarrow.float64()
    assert table.schema.field("best").type == pyarrow.bool_()
    assert table.column("entry.value.mean").to_pylist() == [None] * 4
    assert table.column("state").to_pylist() == ["queued"] * 4


def test_a_list_of_sweeps_says_what_the_json_says_page_by_page(client: TestClient, db: Database) -> None:
    random = {LR: {"log_uniform": [1e-4, 1e-2]}}
    known = [stored(db, posted(GRID)), stored(db, posted(random=random, samples=2, sampler_seed=7))][::-1]
    run_all(db, lambda spec, seed: 0.5)
    items = client.get("/v1/sweeps").json()["items"]
    answer = client.get("/v1/sweeps", params={"limit": 1}, headers={"Accept": "text/csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="sweeps.csv"'
    [first] = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert set(next(csv.reader([SWEEPS_EXAMPLE.splitlines()[0]]))) <= set(first)
    following = client.get(answer.links["next"]["url"], headers={"Accept": "text/csv"})
    [second] = csv.DictReader(io.StringIO(following.text, newline=""))
    assert "link" not in following.headers
    assert [first["id"], second["id"]] == known == [item["id"] for item in items]
    for row, item in zip((first, second), items, strict=True):
        assert {name: json.loads(row[name]) for name in ("spec", "grid", "random")} == {
            name: item[name] for name in ("spec", "grid", "random")
        }
        assert (row["state"], row["created_at"]) == ("succeeded", item["created_at"])
        assert int(row["n_experiments"]) == int(row["progress.done"]) == item["progress"]["total"]
    assert (first["samples"], first["sampler_seed"], first["adaptive"]) == ("2", "7", "false")
    assert (second["samples"], second["progress.eta_seconds"]) == ("", "")


def test_a_list_of_sweeps_in_parquet_has_types(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, posted(GRID))
    answer = client.get("/v1/sweeps", params={"format": "parquet"})
    [row] = pyarrow.parquet.read_table(BytesIO(answer.content)).to_pylist()
    assert (row["id"], row["n_runs"], row["reuse"], row["samples"]) == (sweep_id, 4, True, None)

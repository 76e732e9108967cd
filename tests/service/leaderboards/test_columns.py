"""An exported board has the same values as the JSON answer."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet
from starlette.testclient import TestClient

from normcore.spec.tasks import BENCHMARKS
from service.db import Database
from service.leaderboards.columns import FILE_EXAMPLE, OVERALL_EXAMPLE
from tests.service.leaderboards.boards import board, measured, result
from tests.service.sample_runs import submitted_result

PATH = "/v1/leaderboards/permuted_digits"
FREE = {"changes", "provenance", "conflicting_seeds", "experiments"}  # cells of JSON


def rows_of(client: TestClient, path: str = PATH, **query: Any) -> list[dict[str, str]]:
    answer = client.get(path, params={"profile": "smoke", "format": "csv", **query})
    assert answer.status_code == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def flat(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry's fields by dotted name, intervals as two."""
    found: dict[str, Any] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict) and name not in FREE:
            for key, inner in value.items():
                walk(f"{name}.{key}" if name else key, inner)
        elif name.endswith(("ci95", "rank_ci")):
            found[f"{name}.low"], found[f"{name}.high"] = value or (None, None)
        else:
            found[name] = value

    walk("", entry)
    return found


def cell(value: Any, name: str) -> str:
    if name in FREE:
        return "" if value is None else json.dumps(value, separators=(",", ":"))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def same(text: str, value: Any, name: str) -> bool:
    return float(text) == value if isinstance(value, float) else text == cell(value, name)


def test_a_board_says_what_the_json_says(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.1 + 0.2, 1 / 3], [10, 12, None])
    result(db, "none", [0.60, None], [20, None])
    result(db, "rms_norm", [0.7], [5], training={"max_steps": 400})
    submitted_result(db, "none", [0.91, 0.92])
    entries, rows = board(client)["entries"], rows_of(client)
    assert len(rows) == len(entries) == 4
    for row, entry in zip(rows, entries, strict=True):
        known = flat(entry)
        assert known.keys() - row.keys() <= {"value", "speedup", "steps_to_target", "seconds_to_target"}, "null in all"
        for name, value in known.items():
            if name in row:
                assert same(row[name], value, name), name
        assert all(row[name] == "" for name in row.keys() - known.keys() - {"task", "profile", "problem"})
        assert (row["task"], row["profile"]) == ("permuted_digits", "smoke")
    assert {row["source"] for row in rows} == {"measured", "submitted"}
    assert {row["problem"] for row in rows} == {board(client)["problem"]["id"]}
    assert set(next(csv.reader([FILE_EXAMPLE.splitlines()[0]]))) <= set(rows[0])


def test_a_board_of_an_earlier_time_is_exported_with_the_same_columns(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.84], [10, 12])
    asked = {"profile": "smoke", "format": "csv"}
    heading, _ = client.get(PATH, params=asked).text.splitlines()
    assert client.get(PATH, params={**asked, "as_of": "2020-01-01T00:00:00Z"}).text.splitlines() == [heading]


def test_every_metric_of_the_task_has_its_columns(client: TestClient, db: Database) -> None:
    measured(db, {"task": {"name": "char_lm", "profile": "smoke"}}, 3.5, "bits_per_char")
    [row] = rows_of(client, "/v1/leaderboards/char_lm")
    assert (row["values.bits_per_char.mean"], row["values.accuracy.mean"]) == ("3.5", "")


def test_a_board_in_parquet_has_the_same_rows(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.1 + 0.2], [10, 12])
    answer = client.get(PATH, params={"profile": "smoke", "format": "parquet", "rank_by": "steps_to_target"})
    assert answer.headers["content-disposition"] == 'attachment; filename="permuted_digits-smoke.parquet"'
    found = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    [row], [entry] = found.to_pylist(), board(client, rank_by="steps_to_target")["entries"]
    assert (row["value.mean"], row["value.ci95.low"]) == (entry["value"]["mean"], entry["value"]["ci95"][0])
    assert (row["n_runs"], row["over_budget"], row["speedup.bound"]) == (2, False, None)
    assert {"value.mean": "double", "rank": "int64", "over_budget": "bool", "method": "string"}.items() <= dict(
        zip(found.schema.names, map(str, found.schema.types), strict=True)
    ).items()


def test_an_answer_cached_in_one_format_is_not_given_for_another(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80], [10])
    for _ in range(2):
        assert board(client)["entries"][0]["method"] == "layer_norm"
        assert [row["method"] for row in rows_of(client)] == ["layer_norm"]
    result(db, "none", [0.70], [10])
    assert [row["method"] for row in rows_of(client)] == ["layer_norm", "none"]


OVERALL = "/v1/leaderboards/overall"


def test_all_boards_together_say_what_the_json_says(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8, 0.8], [10, 12])
    result(db, "none", [0.8], [35])
    result(db, "none", [0.8], [30], task={"name": "sequential_digits", "profile": "smoke"})
    known = client.get(OVERALL, params={"profile": "smoke"}).json()["methods"]
    rows = rows_of(client, OVERALL)
    assert [row["method"] for row in rows] == [one["method"] for one in known] == ["none", "layer_norm"]
    assert (float(rows[1]["area"]), rows[1]["fastest"], rows[1]["rank"]) == (0.5, "1", "2")
    assert json.loads(rows[1]["untried"]) == ["sequential_digits"]
    for row, one in zip(rows, known, strict=True):
        assert (row["profile"], row["rank_by"]) == ("smoke", "steps_to_target")
        assert float(row["area"]) == one["area"]
        for name in ("times", "ratios"):
            found = {task: row[f"{name}.{task}"] for task in BENCHMARKS}
            assert {task: float(text) for task, text in found.items() if text} == {
                task: value for task, value in one[name].items() if value is not None
            }
    assert (rows[0]["times.permuted_digits"], rows[0]["ratios.permuted_digits"]) == ("35", str(35 / 11))
    assert set(next(csv.reader([OVERALL_EXAMPLE.splitlines()[0]]))) <= set(rows[0])


def test_all_boards_together_have_their_columns_in_parquet_without_entries(client: TestClient) -> None:
    answer = client.get(OVERALL, params={"profile": "smoke", "rank_by": "seconds_to_target", "format": "parquet"})
    assert answer.headers["content-disposition"] == 'attachment; filename="overall-smoke.parquet"'
    found = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    assert (found.num_rows, found.num_columns) == (0, 7 + 2 * len(BENCHMARKS))
    assert str(found.schema.field("ratios.char_lm").type) == "double"


def test_all_boards_together_are_answered_in_the_format_that_is_preferred(client: TestClient, db: Database) -> None:
    result(db, "none", [0.8], [20])
    for _ in range(2):
        csv_answer = client.get(OVERALL, params={"profile": "smoke"}, headers={"Accept": "text/csv"})
        json_answer = client.get(OVERALL, params={"profile": "smoke"})
        assert csv_answer.headers["content-type"].startswith("text/csv")
        assert json_answer.json()["methods"][0]["method"] == "none"
        assert "Accept" in csv_answer.headers["vary"].split(", ")
        assert "Accept" in json_answer.headers["vary"].split(", ")

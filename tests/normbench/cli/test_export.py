"""Exports as files."""

import csv
import io
import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from normbench import Client, request_parts
from normbench.cli import app
from service.db import Database
from tests.normbench.cli.commands import from_json, normbench
from tests.normbench.terminal import on_a_terminal
from tests.service.comparisons.test_routes import trained
from tests.service.leaderboards.boards import result
from tests.service.sample_runs import submitted
from tests.service.sweeps.sample_sweeps import SPEC, posted, stored


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_board_goes_to_standard_output_or_to_a_file(api: str, db: Database, tmp_path: Path) -> None:
    result(db, "layer_norm", [0.80, 0.1 + 0.2], [10, 12])
    arguments = ("export", "board", "permuted_digits", "--profile", "smoke")
    [row] = rows_of(normbench(*arguments))
    [entry] = Client(api).leaderboard("permuted_digits", profile="smoke")["entries"]
    assert entry["value"] is not None
    assert (row["method"], float(row["value.mean"])) == ("layer_norm", entry["value"]["mean"])
    assert normbench(*arguments, "--output", tmp_path / "board.csv") == ""
    assert rows_of((tmp_path / "board.csv").read_text()) == [row]
    normbench(*arguments, "--format", "parquet", "-o", tmp_path / "board.parquet")
    [known] = pyarrow.parquet.read_table(tmp_path / "board.parquet").to_pylist()
    assert known["value.mean"] == entry["value"]["mean"]
    assert from_json(*arguments)["entries"] == [entry]
    piped = CliRunner().invoke(app, [*arguments, "--format", "parquet"])
    assert piped.stdout_bytes[:4] == piped.stdout_bytes[-4:] == b"PAR1"
    assert rows_of(normbench(*arguments, "--rank-by", "steps_to_target", "--published"))[0]["rank"] == "1"


def test_a_board_is_exported_with_every_option_of_the_leaderboard(api: str, db: Database) -> None:
    result(db, "layer_norm", [0.80], [10])
    result(db, "layer_norm", [0.70], [40], norm={"method": "layer_norm", "gain_init": 0.5})
    result(db, "none", [0.60], [20])
    result(db, "rms_norm", [0.90], [5], training={"max_steps": 400})
    board = ("export", "board", "permuted_digits", "--profile", "smoke")

    def column(name: str, *options: str) -> list[str]:
        return [row[name] for row in rows_of(normbench(*board, *options))]

    assert column("method") == ["layer_norm", "layer_norm", "none", "rms_norm"]
    assert column("rank") == ["1", "2", "3", ""]
    assert float(column("speedup.steps")[0]) == pytest.approx(2)
    assert column("speedup.baseline", "--baseline", "layer_norm")[2:3] == ["layer_norm"]
    assert float(column("speedup.steps", "--baseline", "layer_norm")[2]) == pytest.approx(0.5)
    assert column("method", "--over-budget") == ["rms_norm", "layer_norm", "layer_norm", "none"]
    assert column("method", "--best") == ["layer_norm", "none"]
    assert column("method", "--as-of", "2020-01-01T00:00:00Z") == []
    assert from_json(*board, "--as-of", "2020-01-01T00:00:00Z")["entries"] == []
    assert from_json(*board, "--over-budget")["entries"][0]["method"] == "rms_norm"
    for options in (("--best",), ("--over-budget", "--baseline", "rms_norm")):
        assert from_json(*board, *options) == from_json("leaderboard", *board[2:], *options)


def test_all_boards_together_have_a_row_for_each_method(api: str, db: Database) -> None:
    result(db, "layer_norm", [0.80], [10])
    result(db, "none", [0.60], [20])
    arguments = ("export", "overall", "--profile", "smoke", "--rank-by", "steps_to_target")
    rows = rows_of(normbench(*arguments))
    assert [(row["method"], row["times.permuted_digits"]) for row in rows] == [("layer_norm", "10"), ("none", "20")]
    assert from_json(*arguments) == Client(api).overall(profile="smoke")
    assert "normbench export overall" in normbench("export", "board", "overall", status=2)


@pytest.mark.parametrize("size", [2, 200])
def test_sweeps_of_all_pages_are_one_file(api: str, db: Database, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(request_parts, "MAX_ON_A_PAGE", size)
    known = [stored(db, posted({"norm.method": ["none"]}, spec={**SPEC, "seeds": [k]})) for k in range(3)][::-1]
    assert [row["id"] for row in rows_of(normbench("export", "sweeps"))] == known
    assert [sweep["id"] for sweep in from_json("export", "sweeps")] == known


def test_a_comparison_has_a_row_for_each_entry(api: str, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72], [20, 22])
    norm = trained(db, "layer_norm", [0.80, 0.82], [10, 11])
    rows = rows_of(normbench("export", "comparison", none[:8], norm[:8], "--baseline", norm[:8]))
    assert [(row["fingerprint"], row["baseline"]) for row in rows] == [(none, norm), (norm, norm)]
    assert float(rows[0]["difference.mean"]) == pytest.approx(-0.1)
    assert len(from_json("export", "comparison", none, norm)["entries"]) == 2


def test_a_sweep_has_a_row_for_each_cell(api: str, db: Database) -> None:
    sweep_id = stored(db, posted({"norm.method": ["none", "layer_norm"]}))
    rows = rows_of(normbench("export", "sweep", sweep_id))
    assert [row["values.norm.method"] for row in rows] == ['"none"', '"layer_norm"']
    assert len(from_json("export", "sweep", sweep_id)["cells"]) == 2


def test_an_experiment_has_a_row_for_each_run(api: str, db: Database) -> None:
    trained(db, "none", [0.70, 0.72], [20, 22])
    [found] = Client(api).experiments()
    rows = rows_of(normbench("export", "experiment", found["id"]))
    assert [(row["seed"], row["state"], float(row["result.value"])) for row in rows] == [
        ("0", "succeeded", 0.70),
        ("1", "succeeded", 0.72),
    ]
    assert from_json("export", "experiment", found["id"]) == Client(api).experiment(found["id"])


def test_measurements_have_a_row_for_each_value(api: str, db: Database) -> None:
    trained(db, "none", [0.70], [20])
    [experiment] = Client(api).experiments()
    run = Client(api).experiment(experiment["id"])["runs"][0]["id"]
    rows = rows_of(normbench("export", "measurements", run, "--series", "valid.accuracy"))
    assert [(row["run_id"], int(row["step"]), float(row["value"])) for row in rows] == [
        (run, step, step / 100) for step in (10, 20, 30, 40)
    ]
    assert list(from_json("export", "measurements", run)) == ["valid.accuracy"]
    assert "this command takes a run" in normbench("export", "measurements", experiment["id"], status=2)


@pytest.mark.parametrize("size", [2, 200])
def test_experiments_of_all_pages_are_one_file(
    api: str, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(request_parts, "MAX_ON_A_PAGE", size)
    known = [submitted(db, labels={"note": 'a "b", c', "team": "x"}).id for _ in range(5)][::-1]
    submitted(db, "none")
    arguments = ("export", "experiments", "--label", "team:x", "--method", "layer_norm")
    rows = rows_of(normbench(*arguments))
    assert [row["id"] for row in rows] == known
    assert {json.loads(row["labels"])["note"] for row in rows} == {'a "b", c'}
    normbench(*arguments, "--format", "parquet", "-o", tmp_path / "all.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "all.parquet").column("id").to_pylist() == known
    assert [found["id"] for found in from_json(*arguments)] == known


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["board", "permuted_digits", "--format", "xlsx"], "--format xlsx: choose from csv, parquet"),
        (["board", "permuted_digist"], "did you mean 'permuted_digits'"),
        (["board", ""], "the text given for it is empty"),
        (["board", "permuted_digits", "--output", "/no/such/folder/x.csv"], "No such file"),
        (["experiments", "--label", "x"], "write it as KEY:VALUE"),
        (["experiments", "--state", "dead"], "state"),
    ],
)
def test_wrong_arguments_of_export_are_named(api: str, arguments: list[str], told: str) -> None:
    assert told in normbench("export", *arguments, status=2)


def test_parquet_is_not_poured_into_a_terminal() -> None:
    command = [sys.executable, "-P", "-m", "normbench", "export", "board", "permuted_digits", "--format", "parquet"]
    told = on_a_terminal(command, 200, {"NORMBENCH_URL": "http://127.0.0.1:9"})
    assert told == "normbench: Parquet is not for terminals; name a file with --output\n"


def test_tables_for_papers_are_exported_by_format_or_suffix(api: str, db: Database, tmp_path: Path) -> None:
    result(db, "layer_norm", [0.80, 0.81, 0.82], [10, 12, 13])
    board = ("export", "board", "permuted_digits", "--profile", "smoke")
    assert "| layer_norm | **81.00** |" in normbench(*board, "--format", "markdown")
    normbench(*board, "-o", tmp_path / "board.tex")
    assert r"layer\_norm & \textbf{81.00} &" in (tmp_path / "board.tex").read_text()
    assert "\\begin{tabular}" in normbench("export", "overall", "--profile", "smoke", "--format", "latex")
    card = ("export", "report-card", "layer_norm")
    assert "| permuted_digits (smoke) | 1 of 1 |" in normbench(*card, "--format", "markdown")
    assert rows_of(normbench(*card)) == []
    assert from_json(*card)["method"] == "layer_norm"
    told = normbench("export", "experiments", "--format", "latex", status=2)
    assert "--format latex: choose from csv, parquet" in told


def test_figures_are_exported_in_the_width_of_a_column(api: str, db: Database, tmp_path: Path) -> None:
    result(db, "layer_norm", [0.80, 0.81, 0.82], [10, 12, 13])
    board = ("export", "board", "permuted_digits", "--profile", "smoke", "--figure")
    normbench(*board, "intervals", "-o", tmp_path / "intervals.pdf")
    assert (tmp_path / "intervals.pdf").read_bytes()[:5] == b"%PDF-"
    assert 'width="486pt"' in normbench(*board, "intervals", "--format", "svg", "--width", "6.75in")
    assert "write 3.25in, 8.3cm" in normbench(*board, "intervals", "--width", "0in", status=2)
    assert "choose from curves, intervals" in normbench(*board, "pie", status=2)
    assert "choose from pdf, svg, png" in normbench(*board, "curves", "--format", "csv", status=2)
    assert "leave one of them out" in normbench(*board, "curves", "--json", status=2)

"""``python -m normcore`` prints a run as lines of JSON, and an error as one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from normcore.__main__ import main
from normcore.probe import TIMES

SPEC = """
task: {name: permuted_digits, profile: smoke}
norm: {method: layer_norm}
training: {max_steps: 4, eval_every: 2, optimizer: {lr: 1e-3}}
seeds: [5, 3]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path


def test_every_seed_of_the_spec_is_run_and_its_events_printed(spec: Path) -> None:
    command = [sys.executable, "-m", "normcore", str(spec), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    once = ["started", "probed", "measured", "measured", "finished"]
    assert [(e["seed"], e["event"]) for e in events] == [(5, e) for e in once] + [(3, e) for e in once]
    assert 0 <= events[4]["result"]["value"] <= 1
    assert events[2]["values"]["train.loss"] > 0
    assert len(events[1]["seconds"]) == len(events[4]["timing"]["probe"]) == TIMES


def test_seed_of_the_command_line_replaces_the_seeds_of_the_spec(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(spec), "--seed", "9", "--device", "cpu", "--threads", "1"]) == 0
    assert {json.loads(line)["seed"] for line in capsys.readouterr().out.splitlines()} == {9}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task: {name: permuted_digit}", "error: task.name: unknown 'permuted_digit'; did you mean"),
        (
            "task: {name: permuted_mnist, profile: smoke}",
            "error: task.name: data set 'mnist': train-images-idx3-ubyte is not in",
        ),
        ("task: {name: char_lm, corpus: file, file: a.txt}", "error: task.file: text file 'a.txt' is not in"),
        ("task: [", "is neither YAML nor JSON"),
    ],
)
def test_error_is_printed_on_one_line_with_exit_code_2(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    monkeypatch.setenv("NORMBENCH_DATASETS_DIR", str(tmp_path / "none"))
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err


def test_text_of_one_character_is_reported_at_its_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "same.txt").write_text("x" * 5000)
    path = tmp_path / "spec.yaml"
    path.write_text("task: {name: char_lm, profile: smoke, corpus: file, file: same.txt}")
    monkeypatch.setenv("NORMBENCH_DATASETS_DIR", str(tmp_path))
    assert main([str(path)]) == 2
    told = "text 'same.txt' has one character, over and over; use a text with two or more"
    assert capsys.readouterr().err == f"error: task.file: {told}\n"


def test_missing_spec_is_printed_on_one_line_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.yaml")]) == 2
    said = capsys.readouterr().err
    assert "none.yaml" in said
    assert len(said.splitlines()) == 1


def test_data_is_looked_for_in_the_folder_that_normbench_data_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("task: {name: permuted_mnist, profile: smoke}")
    monkeypatch.delenv("NORMBENCH_DATASETS_DIR", raising=False)
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path / "mine"))
    assert main([str(path)]) == 2
    assert f"is not in {tmp_path / 'mine' / 'datasets' / 'mnist'}" in capsys.readouterr().err


def test_a_misspelt_variable_is_an_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NORMBENCH_DATASET_DIR", str(tmp_path))
    assert main([str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err == "error: NORMBENCH_DATASET_DIR: did you mean NORMBENCH_DATASETS_DIR?\n"

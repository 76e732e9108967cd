"""Data sets are listed, fetched and checked without a service."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from normcore.data import registry
from service.settings import Settings
from tests.normbench.cli.commands import from_json, normbench
from tests.servers import free_port


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
    monkeypatch.setattr("urllib.request._opener", None)  # it keeps to the proxies of its first call
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


def test_files_that_are_missing_are_told_of_together(nobody: None, settings: Settings) -> None:
    told = normbench("data", "verify", "mnist", status=1)
    names = ", ".join(file.name for file in registry.DATASETS["mnist"].files)
    assert f"'mnist': {names} are not in {settings.datasets_dir / 'mnist'}; get them with" in told
    assert told.count("normbench data fetch mnist") == 1


@pytest.mark.parametrize("below", ["", "mnist", "deeper/still"])
def test_a_folder_that_cannot_hold_data_sets_is_named_with_the_data_set_and_the_variable(
    nobody: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    folder = file / below
    monkeypatch.setenv("NORMBENCH_DATASETS_DIR", str(folder))
    told = normbench("data", "fetch", "digits", "mnist", status=1)
    assert told.startswith("normbench: data set 'mnist': ")
    assert "is no folder" in told
    assert f"kept in {folder}, set NORMBENCH_DATASETS_DIR" in told
    assert told.rstrip().endswith(f"into {folder / 'mnist'}")

"""The large board's rows have the form that the service writes, so the service's own code pools and shows them."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from benchmarks import leaderboard
from service.app import create_app
from service.settings import Settings


def test_the_board_has_all_entries_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "ENTRIES", 7)
    settings = Settings(
        data_dir=tmp_path, database_url=f"sqlite:///{tmp_path / 'normbench.db'}", allowed_hosts="testserver"
    )
    leaderboard.fill(settings, experiments=2).close()
    with TestClient(create_app(settings, require_keys=False)) as client:
        entries = client.get(leaderboard.BOARD.path).json()["entries"]
    assert [entry["n_runs"] for entry in entries] == [2 * leaderboard.SEEDS] * 7
    assert {entry["method"] for entry in entries} == set(leaderboard.METHODS)
    assert all(entry["rank"] is not None and 0.6 < entry["value"]["mean"] < 0.95 for entry in entries)

"""The large database has as many rows as it should have, and its calls answer."""

from pathlib import Path

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from benchmarks import leaderboard, scale
from service.app import create_app
from service.db import Database
from service.experiments.tables import Measurement
from service.settings import Settings


def test_all_runs_are_measured_and_every_call_answers(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "ENTRIES", 3)
    monkeypatch.setattr(scale, "LONG_CURVE", 200)
    filled = scale.fill(tmp_path, database_url, experiments=2)
    runs = 3 * 2 * leaderboard.SEEDS
    db = Database(database_url)
    with db.snapshot() as session:
        rows = session.scalar(select(func.count()).select_from(Measurement))
        steps = session.scalar(select(func.max(Measurement.step)).where(Measurement.run_id == filled.long_run))
    db.close()
    assert (rows, steps) == (len(scale.SERIES) * (runs * scale.STEPS + 150), 200)
    settings = Settings(data_dir=tmp_path / "data", database_url=database_url, allowed_hosts="testserver")
    with TestClient(create_app(settings, require_keys=False)) as client:
        for path, _ in filled.calls.values():
            assert client.get(path).status_code == 200, path


def test_the_end_of_a_run_is_timed_where_it_is_the_last_of_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "OF_ONE_FINGERPRINT", 5)
    monkeypatch.setattr(scale, "ENDS", 2)
    found = scale._ends_of_runs("SQLite", tmp_path, f"sqlite:///{tmp_path / 'normbench.db'}")
    assert len(found.samples["ours"]) == 2
    assert found.ours > 0

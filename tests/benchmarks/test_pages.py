"""The database of the pages' benchmark has all that its pages show."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from benchmarks import leaderboard, pages
from service.app import create_app


def test_every_page_of_the_benchmark_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "ENTRIES", 3)
    paths = pages.fill(tmp_path / "data", experiments=1)
    settings = leaderboard.on_sqlite(tmp_path / "data").model_copy(update={"allowed_hosts": "testserver"})
    with TestClient(create_app(settings, require_keys=False)) as client:
        answers = {name: client.get(path, headers={"Accept": "text/html"}) for name, path in paths.items()}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(paths, 200)
    assert "66 entries" in answers["board of all entries"].text

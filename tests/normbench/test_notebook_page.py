"""The example of the Python client in ``docs/use/notebook.md``, run as it stands."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service.db import Database
from service.experiments.lifecycle import ClaimedRun
from service.settings import Settings
from tests.documents import example
from tests.service.live import live_api
from tests.service.sample_runs import begun, finished, measured, recorded, worker


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


def ended(db: Database, run: ClaimedRun) -> None:
    """End a run, with two measurements."""
    begun(db, run.lease)
    recorded(db, run.lease, measured(10), measured(20))
    finished(db, run.lease)


def test_the_example_of_the_client_works(
    settings: Settings,
    db: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with live_api(settings) as url, worker(db, partial(ended, db)):
        monkeypatch.setenv("NORMBENCH_URL", url)
        exec(example(), names)
    assert names["experiment"]["state"] == "succeeded"
    assert list(names["curves"]["step"]) == [10, 20] * 2
    assert list(names["board"]["method"]) == ["layer_norm"]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "[]",
        "10 {'valid.accuracy': 0.1}",
        "20 {'valid.accuracy': 0.2}",
        f"{names['experiment']['id']} {{}}",
    ]

"""The example of the Python client in ``docs/use/notebook.md``, run as it stands."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from service.db import Database
from service.experiments import lifecycle
from service.settings import Settings
from tests.documents import example
from tests.service.live import live_api
from tests.service.sample_runs import ALL_QUEUES, LEASE_SECONDS, begun, finished, measured, recorded


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@contextmanager
def a_worker(db: Database) -> Iterator[None]:
    """Worker that ends every submitted run, with two measurements."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            with db.transaction() as session:
                claim = lifecycle.claim(session, queues=ALL_QUEUES, worker_id="wrk_1", lease_seconds=LEASE_SECONDS)
            if claim is not None:
                begun(db, claim.lease)
                recorded(db, claim.lease, measured(10), measured(20))
                finished(db, claim.lease)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_the_example_of_the_client_works(
    settings: Settings,
    db: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with live_api(settings) as url, a_worker(db):
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

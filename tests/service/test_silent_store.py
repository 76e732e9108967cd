"""An artifact store that hangs delays only requests for its files, and only for a limited time."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from service import artifacts
from service.app import create_app
from service.artifacts import Artifacts
from service.db import Database
from service.settings import Settings
from service.timed_calls import StoreThreads
from tests.service.sample_runs import claimed, finished, submitted
from tests.service.silent_store import SilentFileSystem

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
URL = "silent://artifacts"


@pytest.fixture
def run_id(db: Database) -> str:
    """A run whose files are stored."""
    id = submitted(db).runs[0].id
    for name, content in {"model.pt": b"weights", "figures/matrix.json": b'{"data": [], "layout": {}}'}.items():
        Artifacts(URL).write(id, 1, name, content)
    finished(db, claimed(db).lease)
    return id


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    app = create_app(settings.model_copy(update={"artifacts_url": URL}), require_keys=False)
    app.state.store_threads = StoreThreads(seconds=1.0)
    with TestClient(app) as client:
        yield client


@pytest.fixture
def silence() -> Iterator[None]:
    SilentFileSystem.answers.clear()
    try:
        yield
    finally:
        SilentFileSystem.answers.set()


@pytest.mark.parametrize("path", ["artifacts", "artifacts/model.pt", "figures/matrix"])
def test_requests_for_files_are_told_to_retry_and_other_requests_do_not_wait(
    client: TestClient, run_id: str, path: str
) -> None:
    url = f"/v1/runs/{run_id}/{path}"
    assert client.get(url).status_code == 200
    SilentFileSystem.answers.clear()
    try:
        began = time.monotonic()
        with ThreadPoolExecutor(60) as pool:
            asked = [pool.submit(client.get, url) for _ in range(60)]  # more than the API has threads
            assert client.get(f"/v1/runs/{run_id}").status_code == 200
            assert time.monotonic() - began < 10
            answers = [one.result() for one in asked]
        assert time.monotonic() - began < 20
    finally:
        SilentFileSystem.answers.set()
    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["retry-after"] for answer in answers} == {"1"}
    assert "the artifact store does not answer within 1 s" in answers[0].json()["detail"]


def test_the_page_of_a_run_is_shown_without_its_files(client: TestClient, run_id: str, silence: None) -> None:
    page = client.get(f"/runs/{run_id}")
    assert page.status_code == 200
    assert "The artifact store does not answer now" in page.text


def test_the_store_is_not_asked_for_files_of_an_unknown_run(client: TestClient, run_id: str) -> None:
    SilentFileSystem.asked.clear()
    for path in ("/runs/run_0", "/v1/runs/run_0/artifacts", "/v1/runs/run_0/artifacts/model.pt"):
        assert client.get(path).status_code == 404
    assert SilentFileSystem.asked == []
    assert client.get(f"/v1/runs/{run_id}/artifacts").status_code == 200
    assert [folder.rpartition("/")[2] for folder in SilentFileSystem.asked[:1]] == [run_id]


def test_calls_of_a_worker_end_with_an_error_of_the_network(
    run_id: str, silence: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Artifacts(URL, call_seconds=0.2)
    monkeypatch.setattr(artifacts, "SLOWEST", 1 << 30)
    for call in (
        lambda: store.write(run_id, 1, "model.pt", b"weights"),
        lambda: store.read(run_id, 1, "model.pt"),
        lambda: store.list(run_id),
        store.check_writable,
    ):
        with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
            call()


def test_a_large_file_may_take_longer(run_id: str, silence: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "SLOWEST", 10)
    with pytest.raises(TimeoutError, match=r"no answer within 1\.1 s"):
        Artifacts(URL, call_seconds=0.1).write(run_id, 1, "model.pt", bytes(10))

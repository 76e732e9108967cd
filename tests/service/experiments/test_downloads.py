"""Files of a run over HTTP, whole and in parts."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from service.settings import Settings
from tests.service.http_calls import is_problem
from tests.service.sample_runs import claimed, finished, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_files_of_a_run_are_listed_and_downloaded(client: TestClient, db: Database, settings: Settings) -> None:
    run_id = submitted(db).runs[0].id
    url = f"/v1/runs/{run_id}/artifacts"
    assert client.get(url).json() == {"items": [], "next_cursor": None}
    store = Artifacts(settings.artifacts_url)
    model = bytes(range(256)) * 10_000
    store.write(run_id, 1, "model.pt", model)
    store.write(run_id, 1, "environment.json", b'{"torch": "2.9"}')
    finished(db, claimed(db).lease)
    assert client.get(url).json()["items"] == [
        {"name": "environment.json", "size": 16, "url": f"{url}/environment.json"},
        {"name": "model.pt", "size": 2_560_000, "url": f"{url}/model.pt"},
    ]
    answer = client.get(f"{url}/model.pt")
    assert answer.content == model
    assert answer.headers["content-type"] == "application/octet-stream"
    assert 'filename="model.pt"' in answer.headers["content-disposition"]
    answer = client.get(f"{url}/environment.json")
    assert answer.json() == {"torch": "2.9"}
    assert answer.headers["content-type"] == "application/json"
    assert is_problem(client.get(f"{url}/other.pt"), 404)


@SQLITE
@pytest.mark.parametrize("address", ["figures/matrix.json", "figures%2Fmatrix.json"])
def test_a_figure_is_listed_with_its_address_and_downloaded(
    client: TestClient, db: Database, settings: Settings, address: str
) -> None:
    run_id = submitted(db).runs[0].id
    url = f"/v1/runs/{run_id}/artifacts"
    Artifacts(settings.artifacts_url).write(run_id, 1, "figures/matrix.json", b'{"z": [[1]]}')
    finished(db, claimed(db).lease)
    listed = {"name": "figures/matrix.json", "size": 12, "url": f"{url}/figures/matrix.json"}
    assert client.get(url).json()["items"] == [listed]
    answer = client.get(f"{url}/{address}")
    assert answer.json() == {"z": [[1]]}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == 'attachment; filename="matrix.json"'


@SQLITE
def test_outputs_are_shown_once_their_attempt_has_succeeded(
    client: TestClient, db: Database, settings: Settings
) -> None:
    run_id = submitted(db).runs[0].id
    url, store = f"/v1/runs/{run_id}/artifacts", Artifacts(settings.artifacts_url)

    def seen() -> list[str]:
        return [item["name"] for item in client.get(url).json()["items"]]

    first = claimed(db).lease
    for name in ("log.txt", "model.pt", "figures/curve.json"):
        store.write(run_id, 1, name, b"of the first attempt")
    assert seen() == ["log.txt"]
    for name in ("model.pt", "figures/curve.json"):
        assert is_problem(client.get(f"{url}/{name}"), 404)
    with db.transaction() as session:
        lifecycle.release(session, first, "its worker stopped")
    second = claimed(db).lease
    for name in ("model.pt", "figures/curve.json"):
        store.write(run_id, 2, name, b"of the second attempt")
    assert seen() == ["1.log.txt"]
    finished(db, second)
    assert seen() == ["1.log.txt", "figures/curve.json", "model.pt"]
    for name in ("model.pt", "figures/curve.json"):
        assert client.get(f"{url}/{name}").content == b"of the second attempt"


@SQLITE
@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-9", 0, 9), ("bytes=90-", 90, 99), ("bytes=-5", 95, 99), ("bytes=95-200", 95, 99), ("bytes=-200", 0, 99)],
)
def test_a_part_of_a_file_can_be_asked_for(
    client: TestClient, db: Database, settings: Settings, asked: str, first: int, last: int
) -> None:
    url = stored_file(db, settings, bytes(range(100)))
    answer = client.get(url, headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == bytes(range(first, last + 1))
    assert answer.headers["content-range"] == f"bytes {first}-{last}/100"
    assert answer.headers["content-length"] == str(last - first + 1)


@SQLITE
@pytest.mark.parametrize("asked", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused(client: TestClient, db: Database, settings: Settings, asked: str) -> None:
    answer = client.get(stored_file(db, settings, bytes(100)), headers={"Range": asked})
    assert is_problem(answer, 416)
    assert answer.headers["content-range"] == "bytes */100"


@SQLITE
@pytest.mark.parametrize("asked", ["bytes=5-1", "bytes=0-1,5-6", "lines=1-2", "bytes=-", "nonsense"])
def test_an_unreadable_range_sends_the_whole_file(
    client: TestClient, db: Database, settings: Settings, asked: str
) -> None:
    answer = client.get(stored_file(db, settings, bytes(100)), headers={"Range": asked})
    assert (answer.status_code, answer.content) == (200, bytes(100))


@SQLITE
def test_a_download_goes_on_only_where_the_file_is_still_the_same(
    client: TestClient, db: Database, settings: Settings
) -> None:
    url = stored_file(db, settings, bytes(100))
    etag = client.get(url).headers["etag"]
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
    rest = {"Range": "bytes=50-", "If-Range": etag}
    assert client.get(url, headers=rest).status_code == 206
    Artifacts(settings.artifacts_url).write(url.split("/")[3], 1, "checkpoint-000000000001.pt", bytes(range(100)))
    answer = client.get(url, headers=rest)
    assert (answer.status_code, answer.content) == (200, bytes(range(100)))
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 200


def stored_file(db: Database, settings: Settings, content: bytes) -> str:
    """The address of a file of a new run."""
    run_id = submitted(db).runs[0].id
    Artifacts(settings.artifacts_url).write(run_id, 1, "checkpoint-000000000001.pt", content)
    return f"/v1/runs/{run_id}/artifacts/checkpoint-000000000001.pt"


@SQLITE
@pytest.mark.parametrize(
    "name",
    [
        "%2e%2e",
        "..%2f..%2fsecret",
        "%2Fetc%2Fpasswd",
        ".hidden",
        "a%0a",
        "a%00",
        "a%20b",
        "a" * 200,
        "%5c..",
        "figures/../model.pt",
        "figures%2f%2e%2e%2f%2e%2e%2fsecret",
        "figures/",
        "",
        "*",
    ],
)
def test_no_name_leads_out_of_a_runs_files(client: TestClient, db: Database, settings: Settings, name: str) -> None:
    run_id = submitted(db).runs[0].id
    root = Path(settings.artifacts_url)
    Artifacts(settings.artifacts_url).write(run_id, 1, "model.pt", b"model")
    (root / "secret").write_bytes(b"secret")
    (root / run_id / ".hidden").write_bytes(b"secret")
    answer = client.get(f"/v1/runs/{run_id}/artifacts/{name}")
    assert answer.status_code in (400, 404)
    assert b"secret" not in answer.content.replace(b"2fsecret", b"").replace(b"/secret", b"")
    assert answer.headers["content-type"] == "application/problem+json"

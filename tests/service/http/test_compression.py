"""A client that accepts gzip gets compressed answers, and does not mistake them for the bytes of the file."""

import pytest
from starlette.testclient import TestClient

from service.artifacts import Artifacts
from service.db import Database
from service.http.compression import accepts_gzip
from service.settings import Settings
from tests.service.sample_runs import claimed, finished, submitted

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ZIPPED, PLAIN = {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "identity"}
LOG = b"".join(b"step %d: loss %.3f\n" % (step, 1 / (step + 1)) for step in range(200))


@pytest.fixture
def log_url(db: Database, settings: Settings) -> str:
    """A text file of a run, long enough to be compressed."""
    run_id = submitted(db).runs[0].id
    claimed(db)
    Artifacts(settings.artifacts_url).write(run_id, 1, "log.txt", LOG)
    return f"/v1/runs/{run_id}/artifacts/log.txt"


def test_long_answers_are_compressed_for_clients_that_accept_gzip(client: TestClient) -> None:
    zipped, plain = (client.get("/openapi.json", headers=accepted) for accepted in (ZIPPED, PLAIN))
    assert zipped.headers["content-encoding"] == "gzip"
    assert int(zipped.headers["content-length"]) < len(plain.content) / 4
    assert zipped.json() == plain.json()
    assert "content-encoding" not in plain.headers
    assert zipped.headers["etag"] == plain.headers["etag"]


@pytest.mark.parametrize(
    ("header", "accepts"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5, br", True),
        ("gzip; q=0.001", True),
        ("gzip;q=0", False),
        ("br, gzip ; Q=0.000", False),
        ("", False),
        ("gzipped", False),
        ("identity, *;q=0", False),
    ],
)
def test_only_a_client_that_names_gzip_and_does_not_refuse_it_gets_gzip(
    client: TestClient, header: str, accepts: bool
) -> None:
    assert accepts_gzip(header) is accepts
    answer = client.get("/openapi.json", headers={"Accept-Encoding": header})
    assert (answer.headers.get("content-encoding") == "gzip") is accepts


@pytest.mark.parametrize("accepted", [ZIPPED, PLAIN])
@pytest.mark.parametrize(
    ("path", "vary"),
    [("/openapi.json", "Accept-Encoding"), ("/v1/experiments", "Accept, Accept-Encoding"), ("log", "Accept-Encoding")],
)
def test_caches_are_told_that_answers_depend_on_what_is_accepted(
    client: TestClient, log_url: str, accepted: dict[str, str], path: str, vary: str
) -> None:
    url = log_url if path == "log" else path
    first = client.get(url, headers=accepted)
    again = client.get(url, headers={**accepted, "If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    assert first.headers["vary"] == again.headers["vary"] == vary


def test_a_download_that_was_compressed_does_not_go_on_with_bytes_that_are_not(
    client: TestClient, log_url: str
) -> None:
    zipped = client.get(log_url, headers=ZIPPED)
    assert zipped.headers["content-encoding"] == "gzip"
    assert "accept-ranges" not in zipped.headers
    rest = {"Range": "bytes=50-", "If-Range": zipped.headers["etag"]}
    again = client.get(log_url, headers={**ZIPPED, **rest})
    assert (again.status_code, again.content) == (200, LOG)
    assert client.get(log_url, headers={**PLAIN, **rest}).status_code == 200


def test_a_download_that_was_plain_goes_on(client: TestClient, log_url: str) -> None:
    plain = client.get(log_url, headers=PLAIN)
    assert (plain.content, plain.headers["accept-ranges"]) == (LOG, "bytes")
    rest = client.get(log_url, headers={**ZIPPED, "Range": "bytes=50-", "If-Range": plain.headers["etag"]})
    assert (rest.status_code, rest.content) == (206, LOG[50:])
    assert "content-encoding" not in rest.headers


def test_event_streams_are_never_compressed(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    finished(db, claimed(db).lease)
    answer = client.get(f"/v1/runs/{run_id}/events", headers=ZIPPED)
    assert "content-encoding" not in answer.headers
    assert answer.text.startswith("event: state")

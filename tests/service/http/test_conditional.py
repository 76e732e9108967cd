"""A client that asks again for an unchanged answer gets a few bytes."""

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.http.conditional import etag_matches
from tests.service.sample_runs import claimed, finished, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
CACHED = [
    *["/openapi.json", "/v1/tasks", "/v1/methods/layer_norm", "/v1/leaderboards/permuted_digits", "/v1/experiments"],
    *["/", "/boards", "/boards/permuted_digits", "/compare", "/experiments", "/methods", "/methods/none", "/sweeps"],
    *["/tasks/permuted_digits", "/sign-in", "/docs", "/v1/leaderboards/permuted_digits/figures/intervals?format=png"],
]


@SQLITE
@pytest.mark.parametrize("path", CACHED)
def test_an_unchanged_answer_is_not_sent_again(client: TestClient, path: str) -> None:
    first = client.get(path)
    assert first.headers["cache-control"] == "no-cache"
    etag = first.headers["etag"]
    again = client.get(path, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert client.get(path, headers={"If-None-Match": 'W/"another"'}).content == first.content


@SQLITE
def test_a_run_has_another_tag_when_it_has_changed(client: TestClient, db: Database) -> None:
    path = f"/v1/runs/{submitted(db).runs[0].id}"
    queued = client.get(path).headers["etag"]
    finished(db, claimed(db).lease)
    ended = client.get(path, headers={"If-None-Match": queued})
    assert (ended.status_code, ended.json()["state"]) == (200, "succeeded")
    assert client.get(path, headers={"If-None-Match": ended.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(
    ("header", "matches"),
    [('W/"a"', True), ('"a"', True), ('"b", W/"a"', True), ("*", True), ('"b"', False), ("", False), ("a", False)],
)
def test_tags_are_compared_weakly(header: str, matches: bool) -> None:
    assert etag_matches(header, 'W/"a"') is matches

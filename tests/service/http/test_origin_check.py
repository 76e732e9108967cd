"""Pages of other sites get nothing, whatever a browser sends for them; all other clients are answered."""

import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from service.http.origin_check import OriginCheck

NAMED = frozenset({"bench.example.org"})
CURL = {"Content-Type": "application/x-www-form-urlencoded"}


async def answer_ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def alone() -> TestClient:
    """Client of a service on the user's own machine, without keys."""
    return TestClient(OriginCheck(answer_ok, allowed_hosts=NAMED, require_keys=False), "http://localhost:8000")


@pytest.fixture(scope="module")
def guarded() -> TestClient:
    """Client of a service that asks for keys."""
    return TestClient(OriginCheck(answer_ok, allowed_hosts=NAMED, require_keys=True), "http://localhost:8000")


OWN = ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:8000"]
FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:localhost",
    "",
    "::",
    "0x7f.1",
]


@pytest.mark.parametrize("host", [*OWN, "bench.example.org", "Bench.Example.org:443"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_host_that_is_served_is_answered(alone: TestClient, guarded: TestClient, host: str, method: str) -> None:
    for client in (alone, guarded):
        assert client.request(method, "/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_host_that_is_not_served_is_refused(alone: TestClient, guarded: TestClient, host: str, method: str) -> None:
    for client in (alone, guarded):
        answer = client.request(method, "/", headers={"Host": host})
        assert answer.status_code == 421
        assert answer.headers["content-type"] == "application/problem+json"
        assert "NORMBENCH_ALLOWED_HOSTS" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["10.1.2.3:8000", "192.168.0.7", "[fd00::7]:8000"])
def test_a_probe_by_address_is_answered_where_keys_are_asked_for(
    alone: TestClient, guarded: TestClient, host: str
) -> None:
    assert guarded.get("/", headers={"Host": host}).status_code == 200
    assert alone.get("/", headers={"Host": host}).status_code == 421


def test_a_star_allows_every_host() -> None:
    client = TestClient(OriginCheck(answer_ok, allowed_hosts={"*"}, require_keys=True))
    assert client.get("/", headers={"Host": "any.example"}).status_code == 200


OF_ANOTHER_SITE = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8000"},
]


@pytest.mark.parametrize("headers", OF_ANOTHER_SITE)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_request_from_a_page_of_another_site_is_refused(
    alone: TestClient, headers: dict[str, str], method: str
) -> None:
    answer = alone.request(method, "/", headers=headers)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"


OF_OURS = [
    {},
    CURL,
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8000"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://localhost:8000"},
    {"Origin": "https://LOCALHOST:8000"},
]


@pytest.mark.parametrize("headers", OF_OURS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_our_own_pages_and_programs_are_answered(alone: TestClient, headers: dict[str, str], method: str) -> None:
    assert alone.request(method, "/", headers=headers).status_code == 200


def test_a_link_from_another_site_works_and_a_form_from_there_does_not(alone: TestClient) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert alone.get("/", headers=followed).status_code == 200
    assert alone.get("/", headers={**followed, "Sec-Fetch-Dest": "document"}).status_code == 200
    assert alone.post("/", headers=followed).status_code == 403


@pytest.mark.parametrize("frame", ["iframe", "frame", "embed", "object"])
def test_no_page_from_elsewhere_may_frame_ours(alone: TestClient, frame: str) -> None:
    framed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": frame}
    assert alone.get("/", headers=framed).status_code == 403


def test_the_application_refuses_other_hosts_and_origins(shared_client: TestClient) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        for method, path in (("POST", "/v1/experiments"), ("GET", "/v1/experiments"), ("GET", "/docs")):
            answer = shared_client.request(method, path, headers=headers)
            assert answer.status_code in (403, 421)
            assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("first", ["localhost", "evil.example"])
@pytest.mark.parametrize("second", ["localhost", "evil.example"])
def test_a_request_with_two_hosts_is_refused(alone: TestClient, guarded: TestClient, first: str, second: str) -> None:
    for client in (alone, guarded):
        answer = client.get("/", headers=[("Host", first), ("Host", second)])
        assert answer.status_code == 400
        assert answer.json()["detail"] == "the request has two Host headers; send one"

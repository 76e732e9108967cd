"""Every address answers its methods, and says which methods it has."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from starlette.responses import StreamingResponse
from starlette.testclient import TestClient
from starlette.types import Message

from service.db import Database
from service.http.methods import AnswerHead
from service.settings import Settings
from tests.service.live import live_api
from tests.service.sample_runs import submitted

READABLE = ["/healthz", "/readyz", "/openapi.json", "/docs", "/metrics", "/v1/tasks", "/v1/experiments", "/v1/queue"]


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/normbench.db"


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    with live_api(settings) as url:
        yield url


@pytest.mark.parametrize("path", READABLE)
def test_head_has_the_headers_of_get_and_no_body(client: TestClient, path: str) -> None:
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    if path != "/metrics":  # metrics count requests, so the answers differ
        assert head.headers.get("content-length") == got.headers.get("content-length")
        assert head.headers.get("etag") == got.headers.get("etag")


def test_head_of_an_unknown_run_is_404(client: TestClient) -> None:
    assert client.head("/v1/runs/run_1").status_code == 404


def test_head_of_an_endless_stream_is_answered_at_once(url: str, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    with httpx.Client(base_url=url, timeout=5) as client:
        for _ in range(2):  # over one connection
            answer = client.head(f"/v1/runs/{run_id}/events")
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/experiments", "GET, HEAD, OPTIONS, POST"),
        ("/v1/experiments/exp_1", "GET, HEAD, OPTIONS"),
        ("/v1/experiments/exp_1/cancel", "OPTIONS, POST"),
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/openapi.json", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_and_a_refused_method_name_the_allowed_methods(client: TestClient, path: str, allowed: str) -> None:
    asked = client.options(path)
    assert (asked.status_code, asked.headers["allow"], asked.content) == (204, allowed, b"")
    refused = client.delete(path)
    assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
    assert refused.headers["content-type"] == "application/problem+json"
    if "GET" not in allowed:
        assert client.head(path).status_code == 405


def test_options_of_an_unknown_address_is_404(client: TestClient) -> None:
    assert client.options("/v1/nothing").status_code == 404


def test_head_stops_a_stream_that_would_never_end() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)
            yield b"more"

    async def silent() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "HEAD", "headers": [], "asgi": {"spec_version": "2.3"}}
    asyncio.run(asyncio.wait_for(AnswerHead(StreamingResponse(endless()))(scope, silent, send), 10))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert (sent[1]["body"], sent[1]["more_body"]) == (b"", False)

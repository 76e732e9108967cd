"""What strangers may hold of the API without asking for anything, on real sockets."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from service import connections
from service.db import Database
from service.settings import Settings
from tests.service.given import submitted
from tests.service.live import live_api

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PATIENCE = 10.0  # seconds
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture
def api(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.URL]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connections, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(connections, "IDLE_CONNECTIONS", 40)
    with live_api(settings) as url:
        yield httpx.URL(url)


def connected(api: httpx.URL) -> socket.socket:
    return socket.create_connection((api.host, api.port or 0), timeout=PATIENCE)


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side closes it before our patience ends."""
    try:
        return connection.recv(65536) == b""
    except ConnectionResetError:
        return True


def test_many_half_open_requests_do_not_keep_others_out(api: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600.0)
    with ExitStack() as stack:
        half_open = [stack.enter_context(connected(api)) for _ in range(60)]
        for connection in half_open:
            connection.sendall(HALF)
        assert httpx.get(api.join("/healthz"), timeout=PATIENCE).status_code == 200
        assert all(is_closed(connection) for connection in half_open[:15]), "the oldest make room"
        half_open[-1].sendall(b"\r\n")
        assert half_open[-1].recv(65536).startswith(b"HTTP/1.1 200"), "the youngest do not"


def test_a_head_without_end_is_refused_before_it_takes_memory(api: httpx.URL) -> None:
    sent = 0
    with connected(api) as connection, suppress(ConnectionError):
        connection.sendall(HALF)
        while sent < 300_000_000:
            connection.sendall(b"X-%d: %s\r\n" % (sent, b"x" * 10_000))
            sent += 10_000
    assert sent < 10_000_000


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        HALF,
        HALF + b"\r\n" + HALF,
        b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n",
    ],
)
def test_a_request_that_comes_byte_by_byte_is_ended(api: httpx.URL, begun: bytes) -> None:
    began = time.monotonic()
    with connected(api) as connection, suppress(ConnectionError):
        connection.sendall(begun)
        while time.monotonic() - began < PATIENCE:
            connection.sendall(b"x" if begun else b"")
            connection.settimeout(0.1)
            with suppress(TimeoutError):
                if connection.recv(65536) == b"":
                    break
    assert time.monotonic() - began < PATIENCE


def test_an_answer_may_take_long_and_a_connection_may_ask_again(api: httpx.URL, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    with httpx.Client(base_url=api) as client:
        assert [client.get("/healthz").status_code for _ in range(3)] == [200] * 3
        with client.stream("GET", f"/v1/runs/{run_id}/events", timeout=3.0) as events, pytest.raises(httpx.ReadTimeout):
            for _ in events.iter_raw():
                pass

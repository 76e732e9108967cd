"""Limits on idle and slow clients of the API, on real sockets."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import psutil
import pytest
from sqlalchemy import text

from service import connections
from service.db import Database
from service.settings import Settings
from tests.processes import until
from tests.service.live import live_api
from tests.service.sample_runs import submitted, written

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PATIENCE = 10.0  # seconds
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
EVENTS = b"GET /v1/runs/RUN/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"  # an answer that does not end
POST = b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n"
NO_BODY = POST + b"Content-Length: 99\r\n\r\n"
NO_CHUNK = POST + b"Transfer-Encoding: chunked\r\n\r\n"
TRAILERS = NO_CHUNK + b"0\r\n"
HEADER = b"X-Header: " + b"x" * 10_000 + b"\r\n"


@pytest.fixture
def api(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.URL]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connections, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(connections, "PENDING_CONNECTIONS", 40)
    with live_api(settings) as url:
        yield httpx.URL(url)


@pytest.fixture
def patient_api(api: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> httpx.URL:
    """An API that lets a request take up to ten minutes to arrive."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 600.0)
    monkeypatch.setattr(connections, "BODY_SECONDS", 600.0)
    return api


@pytest.fixture
def run_id(db: Database) -> bytes:
    """A run that waits for a worker, so that its events do not end."""
    return submitted(db).runs[0].id.encode()


def connected(api: httpx.URL) -> socket.socket:
    return socket.create_connection((api.host, api.port or 0), timeout=PATIENCE)


def until_closed(connection: socket.socket) -> bytes:
    """Bytes that the other side sends before it closes. It must close before our patience ends."""
    said = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            said += piece
    return said


def taken(connection: socket.socket, piece: bytes, enough: int = 20_000_000) -> int:
    """Bytes that the other side accepts before it closes, or at least ``enough``."""
    sent = 0
    with suppress(ConnectionError):
        while sent < enough:
            connection.sendall(piece)
            sent += len(piece)
    return sent


def await_count(api: httpx.URL, sample: str) -> None:
    """Return once ``/metrics`` shows a request."""
    deadline = time.monotonic() + PATIENCE
    while sample not in (shown := httpx.get(api.join("/metrics")).text):
        assert time.monotonic() < deadline, shown
        time.sleep(0.01)


@pytest.mark.parametrize(("begun", "rest"), [(HALF, b"\r\n"), (NO_BODY, b"x" * 99), (NO_CHUNK, b"0\r\n\r\n")])
def test_many_requests_that_do_not_end_do_not_block_others(patient_api: httpx.URL, begun: bytes, rest: bytes) -> None:
    with ExitStack() as stack:
        unended = [stack.enter_context(connected(patient_api)) for _ in range(60)]
        for connection in unended:
            connection.sendall(begun)
        assert httpx.get(patient_api.join("/healthz"), timeout=PATIENCE).status_code == 200
        assert [until_closed(connection) for connection in unended[:15]] == [b""] * 15, "the oldest make room"
        unended[-1].sendall(rest)
        assert unended[-1].recv(65536).startswith(b"HTTP/1.1 "), "the youngest do not"


@pytest.mark.parametrize("begun", [HALF, EVENTS + HALF, TRAILERS], ids=["first", "behind an open answer", "trailers"])
@pytest.mark.parametrize("piece", [HEADER, b"x" * 10_000], ids=["headers", "one header"])
def test_headers_without_end_are_refused_before_they_take_memory(
    patient_api: httpx.URL, run_id: bytes, begun: bytes, piece: bytes
) -> None:
    with connected(patient_api) as connection:
        connection.sendall(begun.replace(b"RUN", run_id))
        assert taken(connection, piece) < 10_000_000
        until_closed(connection)


def test_a_head_that_is_too_long_is_refused_with_the_limit(patient_api: httpx.URL) -> None:
    with connected(patient_api) as connection:
        connection.sendall((HALF + b"X-Header: ").ljust(connections.HEAD_BYTES, b"x"))
        connection.sendall(b"x")
        answer = until_closed(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head.split(b"\r\n")
    assert b"content-length: %d" % len(body) in head.split(b"\r\n")
    assert json.loads(body) == {
        "type": "about:blank",
        "title": "Bad request",
        "status": 400,
        "detail": "The request's head is over 65536 bytes; send fewer or shorter headers.",
    }


@pytest.mark.parametrize("begun", [b"", NO_CHUNK], ids=["head", "chunk"])
def test_bytes_that_are_not_http_are_refused(patient_api: httpx.URL, begun: bytes) -> None:
    with connected(patient_api) as connection:
        connection.sendall(begun + b"nonsense")
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")


def test_bytes_that_are_not_http_during_an_answer_end_that_answer(patient_api: httpx.URL, run_id: bytes) -> None:
    with connected(patient_api) as connection:
        connection.sendall(EVENTS.replace(b"RUN", run_id))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"nonsense")
        assert b"HTTP/1.1" not in until_closed(connection)


def test_a_long_body_in_many_pieces_is_not_taken_for_a_head(patient_api: httpx.URL) -> None:
    pieces = 700 * [b'{"a": "%s"}' % (b"x" * 100)]
    as_json = {"Content-Type": "application/json"}
    assert httpx.post(patient_api.join("/v1/experiments"), content=iter(pieces), headers=as_json).status_code == 400
    assert httpx.post(patient_api.join("/v1/experiments"), content=b"x" * 900_000).status_code == 413


def test_a_connection_with_too_many_waiting_requests_is_closed(patient_api: httpx.URL, run_id: bytes) -> None:
    few, many = connections.PIPELINED_REQUESTS, 100_000
    with connected(patient_api) as connection:
        connection.sendall(few * (HALF + b"\r\n"))
        answers = b""
        while answers.count(b"alive") < few:
            answers += connection.recv(65536)
        with suppress(ConnectionError):
            connection.sendall(EVENTS.replace(b"RUN", run_id) + many * (HALF + b"\r\n"))
        until_closed(connection)


@pytest.mark.parametrize(
    ("begun", "more"),
    [
        (b"", b""),
        (HALF, b"x"),
        (HALF + b"\r\n" + HALF, b"x"),
        (HALF + b"\r\n", b"\n"),
        (EVENTS + HALF, b"x"),
        (NO_BODY, b"x"),
        (NO_CHUNK, b"0"),
        (TRAILERS, b"x"),
    ],
)
def test_a_request_that_comes_byte_by_byte_is_ended(api: httpx.URL, run_id: bytes, begun: bytes, more: bytes) -> None:
    began = time.monotonic()
    with connected(api) as connection, suppress(ConnectionError):
        connection.sendall(begun.replace(b"RUN", run_id))
        while time.monotonic() - began < PATIENCE:
            connection.sendall(more)
            connection.settimeout(0.1)
            with suppress(TimeoutError):
                if connection.recv(65536) == b"":
                    break
    assert time.monotonic() - began < PATIENCE


def test_an_answer_may_take_long_and_a_connection_may_ask_again(api: httpx.URL, run_id: bytes) -> None:
    with httpx.Client(base_url=api) as client:
        assert [client.get("/healthz").status_code for _ in range(3)] == [200] * 3
        path = f"/v1/runs/{run_id.decode()}/events"
        with client.stream("GET", path, timeout=3.0) as events, pytest.raises(httpx.ReadTimeout):
            for _ in events.iter_raw():
                pass


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        (NO_BODY, 'method="POST",route="/v1/experiments",status="499"'),
        (EVENTS, 'method="GET",route="/v1/runs/{run_id}/events",status="200"'),
        (EVENTS + HALF + b"\r\n", 'method="GET",route="/v1/runs/{run_id}/events",status="200"'),
    ],
    ids=["in its request", "in its answer", "with a request in advance"],
)
def test_a_client_that_leaves_is_no_error(
    patient_api: httpx.URL, run_id: bytes, caplog: pytest.LogCaptureFixture, sent: bytes, counted: str
) -> None:
    log = logging.getLogger("uvicorn")
    log.addHandler(caplog.handler)
    try:
        with connected(patient_api) as connection:
            connection.sendall(sent.replace(b"RUN", run_id))
            if sent is not NO_BODY:
                assert connection.recv(65536).startswith(b"HTTP/1.1 200"), "it has come in full"
        await_count(patient_api, f"normbench_http_requests_total{{{counted}}} 1.0")
    finally:
        log.removeHandler(caplog.handler)
    assert caplog.records == []


def test_healthz_answers_while_every_thread_waits_for_the_database(
    patient_api: httpx.URL, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PENDING_CONNECTIONS", 100)
    asked = b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
    body = json.dumps(written()).encode()
    with ExitStack() as stack, db.transaction() as session:
        session.execute(text("SELECT 1"))  # which locks all other writers out
        waiting = [stack.enter_context(connected(patient_api)) for _ in range(60)]
        for connection in waiting:
            connection.sendall(asked % len(body) + body)
        assert httpx.get(patient_api.join("/healthz"), timeout=PATIENCE).status_code == 200
        for connection in waiting:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)


TWO_HOSTS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: 127.0.0.1\r\n\r\n"
EVIL_HOST = b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(("request_", "status"), [(TWO_HOSTS, 400), (EVIL_HOST, 421)])
@pytest.mark.parametrize("at", [0, 30, 38])
def test_a_host_that_comes_in_pieces_is_checked(patient_api: httpx.URL, request_: bytes, status: int, at: int) -> None:
    with connected(patient_api) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in filter(None, (request_[:at], request_[at : at + 1], request_[at + 1 :])):
            connection.sendall(piece)
        assert connection.recv(65536).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("trailer", [b"Host: evil.example", b"Sec-Fetch-Site: cross-site", b"Authorization: Bearer a"])
def test_a_trailer_after_a_body_does_not_count_as_a_header(patient_api: httpx.URL, trailer: bytes) -> None:
    body = json.dumps(written()).encode()
    with connected(patient_api) as connection:
        connection.sendall(
            NO_CHUNK.replace(b"\r\n\r\n", b"\r\nContent-Type: application/json\r\n\r\n")
            + b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer)
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 201 ")


SCHEMAS = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * connections.PIPELINED_REQUESTS
LAST = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def reading_little(api: httpx.URL) -> socket.socket:
    """A connection whose client has little room for what it has not read yet."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(PATIENCE)
    connection.connect((api.host, api.port or 0))
    return connection


def test_a_client_that_reads_nothing_is_disconnected(api: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.5)
    with reading_little(api) as connection:
        port = connection.getsockname()[1]

        def is_open() -> bool:
            held = psutil.Process().net_connections("tcp")
            return any(one.laddr.port == api.port and one.raddr and one.raddr.port == port for one in held)

        until(is_open, PATIENCE, lambda: "it is not accepted")
        connection.sendall(SCHEMAS)
        until(lambda: not is_open(), PATIENCE, lambda: "it stays open")


def test_a_client_that_reads_slowly_gets_the_whole_answer(api: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(httpx.get(api.join("/openapi.json"), headers={"Accept-Encoding": "identity"}).content)
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.5)
    with reading_little(api) as connection:
        connection.sendall(SCHEMAS.removesuffix(SCHEMAS[: len(SCHEMAS) // connections.PIPELINED_REQUESTS]) + LAST)
        got, paused = 0, threading.Event()
        while piece := connection.recv(128 * 1024):
            got += len(piece)
            paused.wait(len(piece) / 2e6)  # 2 MB a second
    assert got > connections.PIPELINED_REQUESTS * size > 2_000_000

"""Test of the black hole: connections stay open, nothing is acknowledged, and lost packets arrive afterwards."""

import socket
import threading
from collections.abc import Iterator

import pytest

from benchmarks.faults import blackhole
from benchmarks.faults.blackhole import Relay, relay


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets, one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection = listening.accept()[0]
                except OSError:
                    return
                threading.Thread(target=_send_back, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def between(echo: int) -> Iterator[Relay]:
    with relay(echo) as between:
        yield between


def _send_back(connection: socket.socket) -> None:
    with connection:
        while piece := connection.recv(100):
            connection.sendall(piece)


def _connect(port: int, timeout: float = 10.0) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def test_packets_vanish_and_come_again(between: Relay) -> None:
    with _connect(between.port) as client:
        client.sendall(b"before")
        assert client.recv(100) == b"before"
        between.swallow()
        client.sendall(b"during")
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.recv(100)
        between.restore()
        client.settimeout(10)
        assert client.recv(100) == b"during"


def test_nothing_is_acknowledged_so_that_the_time_outs_of_tcp_notice(between: Relay) -> None:
    with _connect(between.port) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 500)  # milliseconds
        client.sendall(b"before")
        assert client.recv(100) == b"before"
        between.swallow()
        client.sendall(b"into the void")
        with pytest.raises(TimeoutError, match="timed out") as end:
            client.recv(100)
        assert end.value.errno is not None, "the kernel gave the connection up, not our patience"


def test_a_client_that_vanished_meanwhile_is_noticed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blackhole, "KEEPALIVE", {"idle": 1, "interval": 1, "count": 3})
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        relay(listening.getsockname()[1]) as between,
        _connect(between.port) as client,
        listening.accept()[0] as server,
    ):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 500)  # milliseconds
        client.sendall(b"before")
        server.settimeout(30)
        assert server.recv(100) == b"before"
        between.swallow()
        client.sendall(b"into the void")
        with pytest.raises(TimeoutError, match="timed out"):
            client.recv(100)
        client.close()
        between.restore()
        assert server.recv(100) == b"", "nobody is there who could go on"


def test_new_connections_are_swallowed_too_and_work_afterwards(between: Relay) -> None:
    between.swallow()
    with pytest.raises(TimeoutError):
        _connect(between.port, timeout=0.5)
    between.restore()
    with _connect(between.port) as client:
        client.sendall(b"again")
        assert client.recv(100) == b"again"

"""Client of the benchmarks: keep-alive connections on ``http.client``, so cheap that the server's time is measured."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

TIMEOUT = 60.0  # seconds; a slower answer is an error


@dataclass(frozen=True, slots=True)
class Request:
    """HTTP request to send."""

    method: str
    path: str
    body: bytes | None = None


def post(path: str, content: Any) -> Request:
    return Request("POST", path, json.dumps(content).encode())


def get(path: str) -> Request:
    return Request("GET", path)


class Connection:
    """One keep-alive connection to 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self._http.connect()

    def send(self, request: Request) -> bytes:
        """Send a request; return the body of the answer.

        Raises:
            RuntimeError: the status of the answer is 400 or more.
        """
        headers = {"Content-Type": "application/json"} if request.body is not None else {}
        self._http.request(request.method, request.path, request.body, headers)
        answer = self._http.getresponse()
        content = answer.read()
        if answer.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{request.method} {request.path}: {answer.status} {content[:500]!r}")
        return content

    def json(self, request: Request) -> Any:
        return json.loads(self.send(request))

    def timed(self, request: Request) -> float:
        """Send a request; return the seconds until the whole answer was read."""
        began = time.perf_counter()
        self.send(request)
        return time.perf_counter() - began

    def close(self) -> None:
        self._http.close()


@dataclass(frozen=True, slots=True)
class Burst:
    """Answers of one burst: the seconds that each took, and the number of answers per second."""

    latencies: Sequence[float]
    rate: float


def burst(port: int, request: Callable[[], Request], *, clients: int, seconds: float) -> Burst:
    """Let several clients send one request after another for some seconds, each client on its own connection.

    Args:
        request: function that makes the next request.
        clients: number of clients.
    """
    connections = [Connection(port) for _ in range(clients)]
    latencies: list[float] = []
    errors: list[Exception] = []
    start = threading.Barrier(clients + 1)

    def client(connection: Connection) -> None:
        start.wait()
        deadline = time.perf_counter() + seconds
        try:
            while time.perf_counter() < deadline:
                latencies.append(connection.timed(request()))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(connection,)) for connection in connections]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - began
    for connection in connections:
        connection.close()
    if errors:
        raise errors[0]
    return Burst(latencies, len(latencies) / elapsed)

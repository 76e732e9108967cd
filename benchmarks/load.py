"""The client: keep-alive connections on ``http.client``, as cheap as Python has them, so that servers are measured."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

TIMEOUT = 60.0  # seconds; slower is an error


@dataclass(frozen=True, slots=True)
class Request:
    """Request to send."""

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
        """The whole answer.

        Raises:
            RuntimeError: the server did not do as asked.
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
        """Seconds until the whole answer is here."""
        began = time.perf_counter()
        self.send(request)
        return time.perf_counter() - began

    def close(self) -> None:
        self._http.close()


@dataclass(frozen=True, slots=True)
class Burst:
    """Answers that came in a time: how long each took, and how many a second there were."""

    latencies: Sequence[float]
    rate: float


def burst(port: int, request: Callable[[], Request], *, clients: int, seconds: float) -> Burst:
    """Let ``clients`` send one request after another for ``seconds``, each on a connection of its own."""
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

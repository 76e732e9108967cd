"""Our application behind the HTTP servers of the field: how fast each is, and what strangers may hold of it.

``normbench api`` is uvicorn with the bounds of ``service.connections``. The others have their own settings for the same
bounds: as many as there are, and as near as they come.
"""

import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from benchmarks import ours
from benchmarks.load import burst, post
from benchmarks.number import Number, Target, number
from benchmarks.processes import answers, free_port, running
from benchmarks.submitting import BURST_SECONDS, CLIENTS, SPEC

ROUNDS = 8
FILES = 1024  # that a server may open, as most systems have it
HALF_OPEN = 1100
HEALTH_SECONDS = 2.0  # in which /healthz must answer beside them
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEADER = b"X-Header: " + b"x" * 10_000 + b"\r\n"
ENOUGH_BYTES = 100_000_000
ENOUGH_SECONDS = 40.0
HEAD_BYTES, HEAD_SECONDS, IDLE_SECONDS, CONNECTIONS = 65_536, 10, 5, 400  # asked of those that have a setting for it
APPLICATION = "benchmarks.server_app:application"
UVICORN = ["uvicorn", "--factory", APPLICATION, "--log-level=warning", "--no-access-log"]
UVICORN += [f"--limit-concurrency={CONNECTIONS}", f"--timeout-keep-alive={IDLE_SECONDS}", "--port={port}"]
HYPERCORN = f"""
h11_max_incomplete_size = {HEAD_BYTES}
keep_alive_timeout = {IDLE_SECONDS}
read_timeout = {HEAD_SECONDS}
worker_class = "uvloop"
"""
OTHERS: Mapping[str, list[str]] = {
    "uvicorn, httptools": [*UVICORN, "--http=httptools"],
    "uvicorn, h11": [*UVICORN, "--http=h11", f"--h11-max-incomplete-event-size={HEAD_BYTES}"],
    "hypercorn": ["hypercorn", "--config={folder}/hypercorn.toml", "--bind=127.0.0.1:{port}", f"{APPLICATION}()"],
    "granian": [
        *("granian", "--interface=asgi", "--factory", APPLICATION, "--no-access-log", "--port={port}"),
        *(f"--http1-header-read-timeout={1000 * HEAD_SECONDS}", f"--http1-buffer-size={HEAD_BYTES}"),
        f"--backpressure={CONNECTIONS}",
    ],
}


def measure(scratch: Path) -> list[Number]:
    with ExitStack() as stack:
        with _few_files():
            ports = {name: stack.enter_context(_serving(scratch / str(k), name)) for k, name in enumerate(OTHERS)}
            our_port = stack.enter_context(ours.api(scratch / "ours"))
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 2 * HALF_OPEN), most))
        return [
            *_rates(our_port, ports),
            *_compared(
                "head kept waiting", "s", _seconds_for_half_a_head, our_port, ports, Target("ours", "at most", 20)
            ),
            *_compared("head taken", "MB", _megabytes_of_head, our_port, ports, Target("ours", "at most", 10)),
            *_compared(
                f"/healthz beside {HALF_OPEN:,} half-open requests",
                "of 5",
                _answers_beside_half_open,
                our_port,
                ports,
                Target("ours", "at least", 5),
            ),
        ]


@contextmanager
def _few_files() -> Iterator[None]:
    """Whoever is started in the block may open as many files as is usual."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def _serving(folder: Path, name: str) -> Iterator[int]:
    folder.mkdir(parents=True)
    (folder / "hypercorn.toml").write_text(HYPERCORN)
    port = free_port()
    command = [part.format(port=port, folder=folder) for part in OTHERS[name]]
    environment = {"NORMBENCH_DATA_DIR": str(folder)}
    with running(
        [sys.executable, "-m", *command], folder / "log", is_ready=lambda: answers(port), environment=environment
    ):
        yield port


def _rates(our_port: int, ports: Mapping[str, int]) -> list[Number]:
    """Experiments posted a second, in turns."""
    experiment = post("/v1/experiments", SPEC)
    takers = {"ours": our_port, **ports}
    rates: dict[str, list[float]] = {name: [] for name in takers}
    for turn in range(ROUNDS + 1):
        for name in sorted(takers, reverse=bool(turn % 2)):
            rate = burst(takers[name], lambda: experiment, clients=CLIENTS, seconds=BURST_SECONDS).rate
            rates[name] += [rate] if turn else []  # caches fill in the first
    return [
        number(
            "servers: submitting",
            "/s",
            rates["ours"],
            versus=name,
            theirs=rates[name],
            target=Target("ratio", "at least", 0.9),
        )
        for name in ports
    ]


def _compared(
    what: str, unit: str, ask: Callable[[int], float], our_port: int, ports: Mapping[str, int], target: Target
) -> list[Number]:
    value = ask(our_port)
    return [
        Number(f"servers: {what}", unit, value, versus=name, theirs=ask(ports[name]), target=target) for name in ports
    ]


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=ENOUGH_SECONDS)


def _seconds_for_half_a_head(port: int) -> float:
    """Seconds until the rest of a head is no longer waited for; ``ENOUGH_SECONDS`` if it takes longer."""
    began = time.perf_counter()
    with _connected(port) as connection:
        connection.sendall(HALF)
        with suppress(OSError):
            while connection.recv(65536):
                pass
    return time.perf_counter() - began


def _megabytes_of_head(port: int) -> float:
    """Largest part of one request's head that is read; ``ENOUGH_BYTES`` if it may be more."""
    sent = 0
    with _connected(port) as connection, suppress(OSError):
        connection.sendall(HALF)
        while sent < ENOUGH_BYTES:
            connection.sendall(HEADER)
            sent += len(HEADER)
    return sent / 1e6


def _answers_beside_half_open(port: int) -> float:
    """Number of five requests that are answered while other clients hold connections."""
    with ExitStack() as stack:
        for _ in range(HALF_OPEN):
            connection = stack.enter_context(socket.socket())
            connection.settimeout(HEALTH_SECONDS)
            with suppress(OSError):
                connection.connect(("127.0.0.1", port))
                connection.sendall(HALF)
        return sum(_is_healthy(port) for _ in range(5))


def _is_healthy(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=HEALTH_SECONDS) as connection:
            connection.sendall(HALF + b"Connection: close\r\n\r\n")
            return connection.recv(65536).startswith(b"HTTP/1.1 200")
    except OSError:
        return False

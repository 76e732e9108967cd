"""Our application on different HTTP servers: speed, and how much time and memory a bad client can take.

``normbench api`` is uvicorn with the limits of ``service.connections``. Each other server gets the same limits, as far
as it has settings for them.
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
FILES = 1024  # open files of a server; the limit of most systems
HALF_OPEN = 1100
HEALTH_SECONDS = 2.0  # in which /healthz must answer beside half-open requests
HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEADER = b"X-Header: " + b"x" * 10_000 + b"\r\n"
ENOUGH_BYTES = 100_000_000
ENOUGH_SECONDS = 40.0
HEAD_BYTES, HEAD_SECONDS, IDLE_SECONDS, CONNECTIONS = 65_536, 10, 5, 400  # set for each server that has such a setting
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
    """Limit the open files of processes that are started in the block to the usual number."""
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
    """Experiments posted per second to each server, measured in turns."""
    experiment = post("/v1/experiments", SPEC)
    takers = {"ours": our_port, **ports}
    rates: dict[str, list[float]] = {name: [] for name in takers}
    for turn in range(ROUNDS + 1):
        for name in sorted(takers, reverse=bool(turn % 2)):
            rate = burst(takers[name], lambda: experiment, clients=CLIENTS, seconds=BURST_SECONDS).rate
            rates[name] += [rate] if turn else []  # the first turn fills caches
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
    """Seconds for which a server waits for the second half of a request's head, at most ``ENOUGH_SECONDS``."""
    began = time.perf_counter()
    with _connected(port) as connection:
        connection.sendall(HALF)
        with suppress(OSError):
            while connection.recv(65536):
                pass
    return time.perf_counter() - began


def _megabytes_of_head(port: int) -> float:
    """Megabytes of one request's head that a server reads, at most ``ENOUGH_BYTES``."""
    sent = 0
    with _connected(port) as connection, suppress(OSError):
        connection.sendall(HALF)
        while sent < ENOUGH_BYTES:
            connection.sendall(HEADER)
            sent += len(HEADER)
    return sent / 1e6


def _answers_beside_half_open(port: int) -> float:
    """Number of requests, of five, that a server answers while other clients hold half-open requests."""
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

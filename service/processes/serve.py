"""The API as a process. It imports the application last, which takes a second, so a failure to start is told sooner."""

import gc
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from service.processes.startup import exit_on_signals, keys_needed, listen, port_of, prepare
from service.settings import Settings

GRACE_SECONDS = 3  # for open answers, mostly event streams, when the API is told to stop


def serve(settings: Settings, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Run the API until SIGTERM or SIGINT.

    Args:
        ready: called with the port once the socket listens; port 0 means any free one.

    Raises:
        StartupError: see ``service.processes.startup``.
    """
    exit_on_signals()
    db = prepare(settings)
    require_keys = keys_needed(db, host)
    db.close()
    listening = listen(host, port)
    server = make_server(settings, require_keys=require_keys)
    ready(port_of(listening))
    run_until_told(server, listening)


def make_server(settings: Settings, *, require_keys: bool, told: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """Make the server of the application.

    Args:
        told: called when a signal tells the server to stop, before it waits for open answers.
    """
    from service.app import create_app
    from service.connections import BoundedProtocol

    config = uvicorn.Config(
        create_app(settings, require_keys=require_keys),
        http=BoundedProtocol,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return _Server(config, told)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, told: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = told

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._told()
        super().handle_exit(sig, frame)


def run_until_told(server: uvicorn.Server, listening: socket.socket) -> None:
    """Serve on a bound socket until SIGTERM or SIGINT.

    At its end, uvicorn raises the signal again, for the handler that was set before. Here this is uvicorn's own
    handler, so that this process can still clean up.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    _collect_seldom()
    server.run(sockets=[listening])


def _collect_seldom() -> None:
    """Make garbage collection rare, because it delays requests. A search through all modules, which stay anyway, took
    0.1 s now and then. A search after every 700 new tuples took a seventh of the time of an answer, which has tens of
    thousands of tuples.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)

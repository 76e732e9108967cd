"""The API as a process."""

import socket
from collections.abc import Callable

import uvicorn

from service.app import create_app
from service.settings import Settings
from service.startup import keys_needed, listen, prepare

GRACE_SECONDS = 3  # for open answers, event streams above all, when the API is told to stop


def serve(settings: Settings, host: str, port: int, ready: Callable[[], None]) -> None:
    """Listen until SIGTERM or SIGINT.

    Args:
        ready: called once the address is ours.

    Raises:
        StartupError: see ``service.startup``.
    """
    db = prepare(settings)
    require_keys = keys_needed(db, host)
    db.close()
    listening = listen(host, port)
    ready()
    serve_on(listening, settings, require_keys=require_keys)


def serve_on(listening: socket.socket, settings: Settings, *, require_keys: bool) -> None:
    """Serve on a bound socket until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        create_app(settings, require_keys=require_keys),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])

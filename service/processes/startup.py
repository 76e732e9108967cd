"""First steps of every process: it checks that it can work here, and migrates the database."""

import ipaddress
import logging
import resource
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import OperationalError, SQLAlchemyError

from service.artifacts import Artifacts
from service.db import Database
from service.keys import keyring
from service.processes.migrate import UnknownRevision, migrate
from service.settings import Settings
from service.urls import without_password

log = logging.getLogger(__name__)

DATABASE_PATIENCE = 60.0  # seconds; in a cluster the database may start later than we do


class StartupError(Exception):
    """The process cannot work here; the message says what to change."""


def prepare(settings: Settings) -> Database:
    """Check that directories and artifact store can be written to, and migrate the database.

    Raises:
        StartupError: a directory is read-only or full, or the database does not answer.
    """
    check_data_dir(settings.data_dir)
    try:
        Artifacts(settings.artifacts_url).check_writable()
    except Exception as error:  # every file system has errors of its own
        shown = without_password(settings.artifacts_url)
        raise StartupError(f"cannot write to NORMBENCH_ARTIFACTS_URL={shown}: {error}") from None
    db = Database(settings.database_url, call_seconds=settings.database_call_seconds)
    if db.is_sqlite:
        folder = Path(db.engine.url.database or "").absolute().parent
        try:
            _check_writable(folder)
        except OSError as error:
            raise StartupError(f"cannot write to the database's directory {folder}: {error.strerror}") from None
    deadline = time.monotonic() + (0 if db.is_sqlite else DATABASE_PATIENCE)
    while True:
        try:
            migrate(db)
            return db
        except OperationalError as error:
            if time.monotonic() > deadline:
                raise StartupError(f"the database does not answer: {error.orig}") from None
            log.warning("waiting for the database")
            time.sleep(1)
        except SQLAlchemyError as error:
            raise StartupError(f"the database cannot be migrated: {error}") from None
        except UnknownRevision as error:
            raise StartupError(f"the database is from a newer normbench and cannot be migrated: {error}") from None


def exit_on_signals() -> None:
    """Let SIGTERM and SIGINT end this process with status 0, until the process sets handlers of its own."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))


def check_data_dir(data_dir: Path) -> None:
    """Check that the data directory can be written to; make it if it is missing.

    Raises:
        StartupError: it cannot be made, or has no room for a file.
    """
    try:
        _check_writable(data_dir)
    except OSError as error:
        raise StartupError(
            f"cannot write to the data directory {data_dir}: {error.strerror};"
            " set NORMBENCH_DATA_DIR to a directory with space that this user may write to"
        ) from None


def _check_writable(folder: Path) -> None:
    """Check that a folder can be written to; make it if it is missing.

    Raises:
        OSError: the folder cannot be made, or has no room for a file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b"x" * 4096)
        probe.flush()


def is_loopback(host: str) -> bool:
    """Tell if only this machine can connect to ``host``."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def keys_needed(db: Database, host: str) -> bool:
    """Tell if an API that listens on ``host`` must ask for keys.

    Raises:
        StartupError: keys are needed, and there is no valid key.
    """
    if is_loopback(host):
        return False
    with db.snapshot() as session:
        if not keyring.any_valid(session):
            raise StartupError(
                f"refusing to listen on {host} without API keys: others could reach it;"
                " run `normbench keys create NAME` first, or listen on 127.0.0.1"
            )
    return True


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that a port in use is noticed before anything else starts.

    Raises:
        StartupError: the address cannot be used.
    """
    _allow_many_files()
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise StartupError(f"cannot listen on {host}:{port}: {error.strerror or error}; try --port") from None


def port_of(listening: socket.socket) -> int:
    port: int = listening.getsockname()[1]
    return port


def _allow_many_files() -> None:
    """Raise the limit on open files. Each client takes a file descriptor, and the usual limit of 1,024 is for programs
    that call ``select``.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError):  # macOS says that it is unlimited, and then refuses that
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

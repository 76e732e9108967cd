"""Real database and broker servers for one test session: private, on free ports, removed at the end."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import amqp
import psycopg
import redis
from sqlalchemy import create_engine, make_url, text

START_SECONDS = 180.0
STOP_SECONDS = 20.0
ROOM_BYTES = 2 << 30  # memory needed for the databases of a session
GUARD = """
signal=$0 folder=$1; shift
"$@" & server=$!
cat > /dev/null  # ends when our standard input does, however our parent went
kill -s $signal $server; wait $server; rm -rf "$folder"
"""


class NotInstalled(Exception):
    """Programs of a server are missing on this machine."""


def free_port() -> int:
    """Find a port of 127.0.0.1 that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def private_postgres() -> Iterator[str]:
    """Run a PostgreSQL server in a temporary directory; yield the URL of its maintenance database.

    Raises:
        NotInstalled: there is no ``initdb`` or no ``postgres``.
    """
    initdb, postgres = _program("initdb"), _program("postgres")
    user = _unprivileged_user()
    with _folder(user) as folder:
        data = folder / "data"
        create = [initdb, "--pgdata", str(data), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8"]
        subprocess.run([*create, "--no-sync", "--locale", "C"], check=True, capture_output=True, cwd=folder, user=user)
        port = free_port()
        options = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder,
            "max_connections": 200,
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
        }
        command = [postgres, "-D", data, *(f"--{name}={value}" for name, value in options.items())]

        def answers() -> bool:
            with psycopg.connect(host="127.0.0.1", port=port, user="postgres", connect_timeout=2):
                return True

        with _running(command, folder, answers, stop_with=signal.SIGINT, user=user):
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"


@contextmanager
def private_redis(port: int | None = None) -> Iterator[str]:
    """Run a Redis server without persistence, on ``port`` or any free port; yield its URL.

    Raises:
        NotInstalled: there is no ``redis-server``.
    """
    program = _program("redis-server")
    with _folder(None) as folder:
        port = port or free_port()
        options = {"bind": "127.0.0.1", "port": port, "dir": folder, "save": "", "appendonly": "no"}
        command = [program, *(part for name, value in options.items() for part in (f"--{name}", value))]

        def answers() -> bool:
            with redis.Redis(port=port, socket_connect_timeout=2) as connection:
                return bool(connection.ping())

        with _running(command, folder, answers, stop_with=signal.SIGTERM, user=None):
            yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def private_rabbitmq() -> Iterator[str]:
    """Run a RabbitMQ server without plug-ins; yield its URL.

    Raises:
        NotInstalled: there is no ``rabbitmq-server``.
    """
    program = _program("rabbitmq-server")
    with _folder(None) as folder:
        port, distribution = free_port(), free_port()
        (folder / "plugins").write_text("[].")
        (folder / "rabbitmq.conf").write_text(f"listeners.tcp.default = 127.0.0.1:{port}\n")
        (folder / "environment").touch()
        environment = {
            "HOME": folder,
            "RABBITMQ_NODENAME": f"normbench-{port}@localhost",
            "RABBITMQ_CONF_ENV_FILE": folder / "environment",
            "RABBITMQ_CONFIG_FILE": folder / "rabbitmq.conf",
            "RABBITMQ_DIST_PORT": distribution,
            "RABBITMQ_MNESIA_BASE": folder,
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-start_epmd false -erl_epmd_port {distribution}",
        }
        command = ["env", *(f"{name}={value}" for name, value in environment.items()), program]

        def answers() -> bool:
            with amqp.Connection(f"127.0.0.1:{port}", connect_timeout=2, read_timeout=2):
                return True

        with _running(command, folder, answers, stop_with=signal.SIGTERM, user=None):
            yield f"amqp://guest:guest@127.0.0.1:{port}//"


@contextmanager
def postgres_database(server_url: str, template: str = "template1") -> Iterator[str]:
    """Create a database on a PostgreSQL server, as a copy of ``template``; yield its URL, and drop it at the end. To
    copy files takes half the time of PostgreSQL's usual way, through its log."""
    server = make_url(server_url)
    name = f"normbench_test_{secrets.token_hex(8)}"
    admin = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        with admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY"))
        yield server.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        admin.dispose()


def _program(name: str) -> str:
    """Find the path of a program. In Debian the programs of PostgreSQL are not on the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True)
    versions += [Path("/usr/lib/rabbitmq/bin")]  # not the wrapper on the PATH, which changes the user
    found = shutil.which(name, path=os.pathsep.join([*map(str, versions), os.environ.get("PATH", "")]))
    if found is None:
        raise NotInstalled(name)
    return found


def _unprivileged_user() -> str | None:
    """Name of the user for PostgreSQL, which refuses to run as root; None for the present user."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def _folder(owner: str | None) -> Iterator[Path]:
    """Make a temporary directory, in memory if there is room. Other users cannot enter directories of pytest."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix="normbench-test-", dir=memory if roomy else None))
    try:
        if owner is not None:
            shutil.chown(folder, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(
    command: Sequence[object],
    folder: Path,
    answers: Callable[[], bool],
    *,
    stop_with: signal.Signals,
    user: str | None,
) -> Iterator[None]:
    """Run a process that must answer within ``START_SECONDS``; stop it at the end, also if this process is killed."""
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", GUARD, stop_with.name.removeprefix("SIG"), str(folder), *(str(part) for part in command)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=folder,
            user=user,
            start_new_session=True,  # only pytest gets Ctrl-C, and then stops the server
        )
    assert process.stdin is not None
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _quietly(answers):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} does not answer:\n{log.read_text()[-4000:]}")
            time.sleep(0.05)
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _quietly(answers: Callable[[], bool]) -> bool:
    try:
        return answers()
    except (psycopg.OperationalError, redis.ConnectionError, amqp.AMQPError, OSError):
        return False

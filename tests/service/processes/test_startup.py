"""A process that cannot work says at once why, and what to change."""

import resource
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from service.db import Database
from service.keys import keyring
from service.processes import startup
from service.processes.startup import StartupError, is_loopback, keys_needed, listen, prepare
from service.settings import Settings
from tests.servers import free_port

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def local(data_dir: Path, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "data_dir": data_dir,
        "datasets_dir": data_dir / "datasets",
        "database_url": f"sqlite:///{data_dir / 'normbench.db'}",
        "broker_url": "filesystem://localhost",
        "artifacts_url": str(data_dir / "artifacts"),
    }
    return Settings(**{**given, **changes})


def test_a_first_start_creates_database_and_store_and_leaves_no_probes(tmp_path: Path) -> None:
    settings = local(tmp_path / "a" / "b")
    db = prepare(settings)
    with db.snapshot() as session:
        assert session.scalar(text("SELECT count(*) FROM experiments")) == 0
    db.close()
    prepare(settings).close()
    assert {path.name for path in settings.data_dir.iterdir()} <= {
        "artifacts",
        "normbench.db",
        "normbench.db-shm",
        "normbench.db-wal",
        "normbench.db.migrate.lock",
    }, "probes are gone"


def test_processes_that_start_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    settings = local(tmp_path / "data")
    ready = threading.Barrier(6)
    errors: list[Exception] = []

    def start() -> None:
        ready.wait()
        try:
            for _ in range(5):
                prepare(settings).close()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_data_directory_below_a_file_is_named_with_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StartupError, match=r"data directory .*file/data.*NORMBENCH_DATA_DIR"):
        prepare(local(tmp_path / "file" / "data"))


def test_a_data_directory_that_cannot_be_written_to_is_named() -> None:
    with pytest.raises(StartupError, match=r"/proc/normbench.*NORMBENCH_DATA_DIR"):
        prepare(local(Path("/proc/normbench")))


@pytest.mark.parametrize("url", ["nosuchscheme://bucket", "file:///proc/normbench"])
def test_an_artifact_store_that_cannot_be_written_to_is_named(tmp_path: Path, url: str) -> None:
    with pytest.raises(StartupError, match=f"NORMBENCH_ARTIFACTS_URL={url}"):
        prepare(local(tmp_path, artifacts_url=url))


@pytest.mark.parametrize("path", ["file/normbench.db", "/proc/normbench.db", "folder", "garbage.db"])
def test_a_database_file_that_cannot_be_used_is_an_error_for_people(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    (tmp_path / "garbage.db").write_bytes(b"no database at all " * 1000)
    with pytest.raises(StartupError, match="database"):
        prepare(local(tmp_path, database_url=f"sqlite:///{tmp_path / path}"))


def test_a_database_server_that_does_not_answer_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "DATABASE_PATIENCE", 0.5)
    with pytest.raises(StartupError, match="does not answer"):
        prepare(local(tmp_path, database_url=f"postgresql://me@127.0.0.1:{free_port()}/x"))


def test_a_database_server_that_accepts_and_stays_silent_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "DATABASE_PATIENCE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(StartupError, match="does not answer"):
            prepare(local(tmp_path, database_url=url, database_call_seconds=1))


def test_a_database_of_a_newer_version_is_left_alone(settings: Settings, db: Database) -> None:
    with db.transaction() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StartupError, match=r"newer normbench.*9999"):
        prepare(settings)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_loopback_addresses_are_recognised(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "192.168.1.2", "example.org", "", "localhost.example.org"]
)
def test_other_addresses_are_not_called_loopback(host: str) -> None:
    assert not is_loopback(host)


@SQLITE
def test_an_api_open_to_other_machines_does_not_start_without_a_key(db: Database) -> None:
    assert keys_needed(db, "127.0.0.1") is False
    with pytest.raises(StartupError, match=r"0\.0\.0\.0 without API keys.*normbench keys create"):
        keys_needed(db, "0.0.0.0")
    with db.transaction() as session:
        key, _ = keyring.create(session, "ada")
    assert keys_needed(db, "0.0.0.0") is True
    assert keys_needed(db, "127.0.0.1") is False
    with db.transaction() as session:
        keyring.revoke(session, key.id)
    with pytest.raises(StartupError):
        keys_needed(db, "0.0.0.0")


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartupError, match=rf"127\.0\.0\.1:{port}.*--port"):
            listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_named() -> None:
    with pytest.raises(StartupError, match=r"192\.0\.2\.1"):
        listen("192.0.2.1", 0)


def test_a_free_port_can_be_connected_to() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname(), timeout=5):
        pass


def test_listening_raises_the_limit_of_open_files_to_the_most_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        listen("127.0.0.1", 0).close()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

"""A silent database ends a call after its time limit, and does no other harm to the process."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import QueuePool, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError

from service.db import CLOSING_SECONDS, Database
from tests.proxies import Proxy, proxy_to

CALL_SECONDS = 1.5
AT_MOST = 10.0  # seconds for any call here; without a deadline it would never end


@pytest.fixture
def proxy(fresh_postgres_url: str) -> Iterator[Proxy]:
    with proxy_to(make_url(fresh_postgres_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
def behind(proxy: Proxy, fresh_postgres_url: str) -> Iterator[Database]:
    """A database behind the proxy, with one connection in its pool."""
    url = make_url(fresh_postgres_url).set(host="127.0.0.1", port=proxy.port)
    db = Database(url.render_as_string(hide_password=False), call_seconds=CALL_SECONDS)
    with db.transaction() as session:
        session.execute(text("CREATE TABLE marks (mark INTEGER)"))
    yield db
    db.close()


def mark(db: Database, value: int) -> None:
    with db.transaction() as session:
        session.execute(text("INSERT INTO marks VALUES (:value)"), {"value": value})


def ask_twice(db: Database, between: Callable[[], None]) -> None:
    """One transaction of two statements."""
    with db.transaction() as session:
        session.execute(text("INSERT INTO marks VALUES (1)"))
        between()
        session.execute(text("INSERT INTO marks VALUES (2)"))


def marks(db: Database) -> list[int]:
    with db.snapshot() as session:
        return list(session.scalars(text("SELECT mark FROM marks ORDER BY mark")))


def test_a_silent_database_fails_every_call_in_time_and_is_used_again_later(behind: Database, proxy: Proxy) -> None:
    proxy.swallow()
    for _ in range(2):  # on the connection from the pool, and on a new one
        began = time.monotonic()
        with pytest.raises(OperationalError):
            mark(behind, 1)
        assert time.monotonic() - began < AT_MOST
    proxy.carry_new()
    mark(behind, 2)
    assert marks(behind) == [2]


def test_a_call_under_way_when_the_database_falls_silent_ends_with_its_connection(
    behind: Database, proxy: Proxy
) -> None:
    with pytest.raises(OperationalError, match="did not answer"):
        ask_twice(behind, proxy.swallow)
    proxy.carry_new()
    assert marks(behind) == []


def test_a_slow_statement_is_ended_by_the_server_and_the_connection_stays(behind: Database) -> None:
    with pytest.raises(DBAPIError, match="statement timeout"), behind.transaction() as session:
        session.execute(text("SELECT pg_sleep(60)"))
    connections = behind.engine.pool
    assert isinstance(connections, QueuePool)
    assert connections.checkedin() == 1


def test_a_transaction_whose_client_fell_silent_releases_its_locks(behind: Database, fresh_postgres_url: str) -> None:
    direct = Database(fresh_postgres_url)

    def wait_for_the_lock() -> None:
        with direct.transaction() as session:
            session.execute(text("LOCK TABLE marks"))

    with pytest.raises(DBAPIError):  # which one depends on whether the server's last word was read
        ask_twice(behind, wait_for_the_lock)
    direct.close()


def test_a_process_that_must_stop_waits_less_for_a_call_under_way(proxy: Proxy, behind: Database) -> None:
    db = Database(behind.url, call_seconds=300)
    silent, ended = threading.Event(), threading.Event()

    def fall_silent() -> None:
        proxy.swallow()
        silent.set()

    def ask() -> None:
        with pytest.raises(OperationalError):
            ask_twice(db, fall_silent)
        ended.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert silent.wait(AT_MOST)
    assert not ended.wait(0.5)
    db.hurry()
    assert ended.wait(CLOSING_SECONDS + AT_MOST)
    thread.join()
    db.close()

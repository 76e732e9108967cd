"""Writes of many requests in one transaction: each is committed, or refused, as if it were alone."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from service.db import Database, utc_now
from service.errors import Conflict
from service.group_commit import MOST, GroupCommit
from service.keys.tables import ApiKey

Work = Callable[[Session], Any]


def store(name: str, then: Callable[[], Any] = lambda: None) -> Work:
    """Return a write that stores a key, of which there may be only one, and returns its transaction."""

    def work(session: Session) -> Session:
        session.execute(insert(ApiKey).values(id=name, name=name, sha256=name, created_at=utc_now()))
        then()
        return session

    return work


def stored(db: Database) -> list[str]:
    with db.snapshot() as session:
        return list(session.scalars(select(ApiKey.name).order_by(ApiKey.name)))


def written(db: Database, *waiting: Work) -> tuple[Any, list[Any]]:
    """Results of a first write, and of those that come while it is under way: values or errors."""
    under_way, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        under_way.set()
        assert may_go_on.wait(10)

    async def write() -> tuple[Any, list[Any]]:
        group_commit = GroupCommit(db)
        first = asyncio.create_task(group_commit.write(store("first", hold)))
        assert await asyncio.to_thread(under_way.wait, 10)
        others = [asyncio.create_task(group_commit.write(work)) for work in waiting]
        await asyncio.sleep(0)  # each has begun to wait
        may_go_on.set()
        return await first, await asyncio.gather(*others, return_exceptions=True)

    return asyncio.run(write())


def test_writes_that_come_during_another_write_are_committed_together(db: Database) -> None:
    first, others = written(db, *(store(f"k{k:02d}") for k in range(MOST + 2)))
    assert stored(db) == ["first", *(f"k{k:02d}" for k in range(MOST + 2))]
    assert [others.count(transaction) for transaction in dict.fromkeys(others)] == [MOST, 2]
    assert first not in others


def test_each_write_has_its_own_result(db: Database) -> None:
    _, others = written(db, lambda session: "one", lambda session: None, lambda session: "three")
    assert others == ["one", None, "three"]


def test_a_write_has_its_result_once_it_is_committed(db: Database) -> None:
    async def write() -> list[str]:
        await GroupCommit(db).write(store("k"))
        return stored(db)

    assert asyncio.run(write()) == ["k"]


def refuse() -> None:
    raise Conflict("this one")


@pytest.mark.parametrize(
    ("refused", "error"),
    [(store("bad", refuse), Conflict), (store("good-1"), IntegrityError), (store("first"), IntegrityError)],
    ids=["by-its-own-rules", "by-the-database", "for-what-was-there"],
)
def test_a_refused_write_undoes_nothing_of_others(db: Database, refused: Work, error: type[Exception]) -> None:
    _, others = written(db, store("good-1"), refused, store("good-2"))
    assert [type(other) for other in others] == [Session, error, Session]
    assert stored(db) == ["first", "good-1", "good-2"]


def test_an_error_that_is_returned_is_raised_for_its_write_and_keeps_the_transaction(db: Database) -> None:
    _, others = written(db, store("good-1"), lambda session: Conflict("this one"), store("good-2"))
    assert [type(other) for other in others] == [Session, Conflict, Session]
    assert others[0] is others[2]
    assert stored(db) == ["first", "good-1", "good-2"]


@pytest.mark.parametrize(
    "work", [store("bad", refuse), lambda session: Conflict("this one")], ids=["raised", "returned"]
)
def test_the_error_of_a_write_is_raised_and_not_its_result(db: Database, work: Work) -> None:
    async def write() -> Any:
        return await GroupCommit(db).write(work)

    with pytest.raises(Conflict, match="this one"):
        asyncio.run(write())


def test_an_error_of_the_database_is_raised_for_all_that_wait_after_one_try(db: Database) -> None:
    met: list[str] = []

    def away() -> None:
        met.append("away")
        raise OperationalError("INSERT", {}, Exception("the server does not answer"))

    others = [store(f"k{k}") for k in range(2 * MOST)]
    _, told = written(db, others[0], store("unlucky", away), *others[1:])
    assert [type(outcome) for outcome in told] == [OperationalError] * (2 * MOST + 1)
    assert met == ["away"]
    assert stored(db) == ["first"]


def test_writes_committed_before_an_error_of_the_database_succeed(db: Database) -> None:
    met: list[str] = []

    def away_if_alone() -> None:
        met.append("called")
        if len(met) > 1:
            raise OperationalError("INSERT", {}, Exception("the server does not answer"))

    _, told = written(db, store("good"), store("unlucky", away_if_alone), store("bad", refuse), store("last"))
    assert [type(outcome) for outcome in told] == [Session, OperationalError, OperationalError, OperationalError]
    assert stored(db) == ["first", "good"]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_deadlock_of_two_groups_fails_no_write(db: Database) -> None:
    with Session(db.engine) as another:
        another.execute(text("SET LOCAL deadlock_timeout = '20s'"))  # our deadlock is found first, after one second
        store("b")(another)

        def cross() -> None:
            waiting_for_lock(db)
            try:
                store("a")(another)
                another.commit()
            except IntegrityError:  # our second try was faster
                another.rollback()

        crossing = threading.Thread(target=cross)
        crossing.start()
        _, others = written(db, store("a"), store("b"), store("c"))
        crossing.join()
    assert {type(other) for other in others} <= {IntegrityError, Session}
    assert type(others[2]) is Session
    assert stored(db) == ["a", "b", "c", "first"]


def waiting_for_lock(db: Database) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    for _ in range(400):
        with db.snapshot() as session:
            if session.scalar(text(waiting)):
                return
        time.sleep(0.02)
    raise AssertionError("nobody waits for a lock")


def test_a_cancelled_write_neither_delays_nor_undoes_other_writes(db: Database) -> None:
    under_way, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        under_way.set()
        assert may_go_on.wait(10)

    async def write() -> Any:
        group_commit = GroupCommit(db)
        first = asyncio.create_task(group_commit.write(store("first", hold)))
        others = [asyncio.create_task(group_commit.write(store(f"k{k}"))) for k in range(3)]
        assert await asyncio.to_thread(under_way.wait, 10)
        first.cancel()
        others[1].cancel()
        await asyncio.sleep(0)
        may_go_on.set()
        outcomes = await asyncio.gather(first, *others, return_exceptions=True)
        await group_commit.write(store("later"))
        return [type(outcome) for outcome in outcomes]

    assert asyncio.run(write()) == [asyncio.CancelledError, Session, asyncio.CancelledError, Session]
    assert stored(db) == ["first", "k0", "k1", "k2", "later"]

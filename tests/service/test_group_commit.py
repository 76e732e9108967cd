"""Writes of many requests in one transaction: each is committed, or refused, as if it were alone."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from service.db import Database, utc_now
from service.errors import Conflict
from service.group_commit import MOST, GroupCommit
from service.keys.tables import ApiKey

Work = Callable[[Session], Any]


def store(name: str, then: Callable[[], Any] = lambda: None) -> Work:
    """Stores a key, whose name nobody else may have; tells in which transaction."""

    def work(session: Session) -> Session:
        session.execute(insert(ApiKey).values(id=name, name=name, sha256=name, created_at=utc_now()))
        then()
        return session

    return work


def stored(db: Database) -> list[str]:
    with db.snapshot() as session:
        return list(session.scalars(select(ApiKey.name).order_by(ApiKey.name)))


def written(db: Database, *waiting: Work) -> tuple[Any, list[Any]]:
    """What a first write gives, and what those give, values or errors, that come while it is under way."""
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


def test_what_comes_during_a_write_is_committed_together(db: Database) -> None:
    first, others = written(db, *(store(f"k{k:02d}") for k in range(MOST + 2)))
    assert stored(db) == ["first", *(f"k{k:02d}" for k in range(MOST + 2))]
    assert [others.count(transaction) for transaction in dict.fromkeys(others)] == [MOST, 2]
    assert first not in others


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


def test_trouble_of_the_database_is_told_to_all_and_met_once(db: Database) -> None:
    met: list[str] = []

    def away() -> None:
        met.append("away")
        raise OperationalError("INSERT", {}, Exception("the server does not answer"))

    _, others = written(db, store("good-1"), store("unlucky", away), store("good-2"))
    assert [type(other) for other in others] == [OperationalError] * 3
    assert met == ["away"]
    assert stored(db) == ["first"]


def test_who_leaves_before_the_write_holds_up_nobody(db: Database) -> None:
    async def write() -> None:
        group_commit = GroupCommit(db)
        writes = [asyncio.create_task(group_commit.write(store(f"k{k}"))) for k in range(4)]
        await asyncio.sleep(0)
        writes[0].cancel()
        writes[2].cancel()
        await asyncio.gather(*writes, return_exceptions=True)
        await group_commit.write(store("later"))

    asyncio.run(write())
    assert set(stored(db)) >= {"k1", "k3", "later"}

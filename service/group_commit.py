"""Writes of many requests in one transaction.

To begin and commit a transaction takes longer than most writes, and threads that each have one take the interpreter's
lock from one another. So a write that comes while another is under way waits for it, and goes on with all that wait.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from service.db import Database

T = TypeVar("T")
Work = Callable[[Session], T]

MOST = 16  # writes of one transaction; meanwhile nobody else writes to SQLite
DEADLOCK = "40P01"  # PostgreSQL's; two transactions wait for one another, which each write alone never does


@dataclass(frozen=True, eq=False, slots=True)
class _Write:
    work: Work[Any]
    outcome: asyncio.Future[Any]


class GroupCommit:
    """Commits together what comes together, for the tasks of one event loop."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[_Write] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Work[T]) -> T:
        """Do ``work`` in a transaction, and return its result once that is committed.

        Args:
            work: writes by a session, and does nothing else: it may be called anew, in another transaction.

        Raises:
            Exception: what ``work`` raised, which undoes nothing of others; or the database's trouble, which is told to
                all that wait.
        """
        write = _Write(work, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        outcome: T = await write.outcome
        return outcome

    async def _write_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                outcomes = await run_in_threadpool(_commit, self._db, [write.work for write in group])
            except Exception as trouble:
                group, self._waiting = [*group, *self._waiting], []
                outcomes = [trouble] * len(group)
            for write, outcome in zip(group, outcomes, strict=True):
                if write.outcome.done():  # who asked has left
                    continue
                if isinstance(outcome, Exception):
                    write.outcome.set_exception(outcome)
                else:
                    write.outcome.set_result(outcome)


def _commit(db: Database, group: Sequence[Work[Any]]) -> list[Any]:
    """The result of each write, or the error that refused it.

    Raises:
        Exception: the database is in trouble; of what was written alone before, some may be stored.
    """
    try:
        with db.transaction() as session:
            return [work(session) for work in group]
    except Exception as error:
        if not _is_of_one(error):
            raise
        return [error] if len(group) == 1 else [_commit(db, [work])[0] for work in group]


def _is_of_one(error: Exception) -> bool:
    """Whether a write itself was refused; otherwise the database is in trouble, and would be for each of them."""
    if isinstance(error, DBAPIError):
        refused = isinstance(error, (IntegrityError, DataError))
        return refused or getattr(error.orig, "sqlstate", None) == DEADLOCK
    return not isinstance(error, PoolTimeout)

"""Writes of several requests in one transaction.

Beginning and committing a transaction takes longer than most writes, and threads with one transaction each compete for
the interpreter's lock. So writes that arrive while another is under way wait for it, and are then committed together.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from service.db import Database

T = TypeVar("T")
Work = Callable[[Session], T]

MOST = 16  # writes in one transaction; during it nobody else can write to SQLite
DEADLOCK = "40P01"  # PostgreSQL's code; groups can deadlock with each other, single writes cannot


@dataclass(frozen=True, eq=False, slots=True)
class _Write:
    work: Work[Any]
    outcome: asyncio.Future[Any]


class GroupCommit:
    """Commits the writes of one event loop's tasks. Writes that arrive together share a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._waiting: list[_Write] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Work[T | Exception]) -> T:
        """Call ``work`` in a transaction, and return its result after the commit.

        Args:
            work: function that writes with the session and has no other effect, because it may be repeated in another
                transaction. If it raises an error, the other writes of its transaction are repeated. If it has written
                nothing yet, it can return the error instead, and nothing is repeated.

        Raises:
            Exception: the error that ``work`` raised or returned, which does not undo other writes; or an error of the
                database itself, which all waiting writes get.
        """
        write = _Write(work, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        outcome: T = await write.outcome
        return outcome

    async def write_once(self, work: Work[T | Exception], key: str | None) -> T:
        """Write what has an ``Idempotency-Key``. If two requests use one new key at the same time, the later request
        fails at the unique column of the key. Then ``work`` is called again, and finds what the earlier request has
        stored.
        """
        try:
            return await self.write(work)
        except IntegrityError:
            if key is None:
                raise
            return await self.write(work)

    async def _write_all(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            try:
                outcomes = await run_in_threadpool(_commit, self._db, [write.work for write in group])
            except Exception as no_thread:
                outcomes = [no_thread] * len(group)
            if _is_trouble(outcomes[-1]):
                group, self._waiting = group + self._waiting, []
            for write, outcome in zip_longest(group, outcomes, fillvalue=outcomes[-1]):
                _tell(write, outcome)


def _tell(write: _Write, outcome: Any) -> None:
    if write.outcome.done():  # the client is gone
        return
    if isinstance(outcome, Exception):
        write.outcome.set_exception(outcome)
    else:
        write.outcome.set_result(outcome)


def _commit(db: Database, group: Sequence[Work[Any]]) -> list[Any]:
    """Commit a group of writes in one transaction. Return for each write its result, or the error that it raised. After
    an error of the database itself, all remaining writes get this error.
    """
    try:
        with db.transaction() as session:
            return [work(session) for work in group]
    except Exception as error:
        if len(group) == 1 or _is_trouble(error):
            return [error] * len(group)
    outcomes: list[Any] = []
    for work in group:
        outcomes += [outcomes[-1]] if outcomes and _is_trouble(outcomes[-1]) else _commit(db, [work])
    return outcomes


def _is_trouble(outcome: Any) -> bool:
    """Tell if an outcome is an error of the database itself, which every write would meet."""
    if isinstance(outcome, DBAPIError):
        refused = isinstance(outcome, (IntegrityError, DataError))
        return not refused and getattr(outcome.orig, "sqlstate", None) != DEADLOCK
    return isinstance(outcome, PoolTimeout)

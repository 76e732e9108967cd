"""Writes of many requests in one transaction.

To begin and commit a transaction takes longer than most writes, and threads that each have one take the interpreter's
lock from one another. So a write that comes while another is under way waits for it, and goes on with all that wait.
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
            except Exception as no_thread:
                outcomes = [no_thread] * len(group)
            if _is_trouble(outcomes[-1]):
                group, self._waiting = group + self._waiting, []
            for write, outcome in zip_longest(group, outcomes, fillvalue=outcomes[-1]):
                _tell(write, outcome)


def _tell(write: _Write, outcome: Any) -> None:
    if write.outcome.done():  # who asked has left
        return
    if isinstance(outcome, Exception):
        write.outcome.set_exception(outcome)
    else:
        write.outcome.set_result(outcome)


def _commit(db: Database, group: Sequence[Work[Any]]) -> list[Any]:
    """What each write returns, or the error that refused it; from the first one that meets trouble on, the trouble."""
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
    """Whether it is the database's, and would come to each write; otherwise a write itself was refused, or none was."""
    if isinstance(outcome, DBAPIError):
        refused = isinstance(outcome, (IntegrityError, DataError))
        return not refused and getattr(outcome.orig, "sqlstate", None) != DEADLOCK
    return isinstance(outcome, PoolTimeout)

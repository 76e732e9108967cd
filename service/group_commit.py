"""Writes of many requests in one transaction.

To begin and commit a transaction takes longer than most writes, and threads that each have one take the interpreter's
lock from one another. So a write that comes while another is under way waits for it, and goes on with all that wait.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from service.db import Database

T = TypeVar("T")

MOST = 16  # writes of one transaction; meanwhile nobody else writes to SQLite


@dataclass(eq=False)
class _Write(Generic[T]):
    work: Callable[[Session], T]
    result: T | None = None
    error: Exception | None = None
    done: bool = False


class GroupCommit:
    """Commits together what comes together, for the tasks of one event loop."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._turn = asyncio.Lock()  # whoever waits for it gets it in order
        self._waiting: list[_Write[Any]] = []

    async def write(self, work: Callable[[Session], T]) -> T:
        """Do ``work`` in a transaction, and return its result once that is committed.

        Args:
            work: writes by a session, and does nothing else: it may be called anew, in another transaction.

        Raises:
            Exception: what ``work`` raised, which undoes nothing of others; or the database's trouble.
        """
        write = _Write(work)
        self._waiting.append(write)
        async with self._turn:
            if not write.done:
                group, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                await run_in_threadpool(self._commit, group)
        if write.error is not None:
            raise write.error
        return cast(T, write.result)

    def _commit(self, group: Sequence[_Write[Any]]) -> None:
        try:
            with self._db.transaction() as session:
                results = [write.work(session) for write in group]
        except Exception as error:
            if len(group) > 1 and _is_of_one(error):
                for write in group:
                    self._commit([write])
                return
            for write in group:
                write.error, write.done = error, True
        else:
            for write, result in zip(group, results, strict=True):
                write.result, write.done = result, True


def _is_of_one(error: Exception) -> bool:
    """Whether a write itself was refused; otherwise the database is in trouble, and would be for each of them."""
    if isinstance(error, DBAPIError):
        return isinstance(error, (IntegrityError, DataError))
    return not isinstance(error, PoolTimeout)

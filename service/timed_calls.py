"""Calls that may never return, such as calls of a store behind a network. Callers wait only for a limited time.

A call that hangs cannot be ended from outside. It goes on in a thread of its own, and its result is ignored.
"""

import asyncio
import errno
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from service.errors import Unavailable

T = TypeVar("T")

CALL_SECONDS = 10.0  # for one call of a store to be answered
THREADS = 8  # threads of one process that may wait for a store at the same time


_free = threading.BoundedSemaphore(THREADS)  # for calls of ``within``


def within(seconds: float, work: Callable[[], T]) -> T:
    """Call ``work`` in a thread, and return its result.

    Raises:
        TimeoutError: there is no result after ``seconds``. The cause may also be earlier calls that hang, so that no
            thread is free.
    """
    deadline = time.monotonic() + seconds
    if not _free.acquire(timeout=seconds):
        raise TimeoutError(
            errno.ETIMEDOUT,
            f"not asked: {THREADS} earlier requests got no answer within {seconds:g} s; try again later",
        )
    result = start(work)
    result.add_done_callback(lambda _: _free.release())
    try:
        return result.result(max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        if result.done():  # the work itself raised it
            raise
        raise TimeoutError(errno.ETIMEDOUT, f"no answer within {seconds:g} s") from None


def start(work: Callable[[], T]) -> "Future[T]":
    """Call ``work`` in a thread of its own.

    Returns:
        The future result of ``work``. It is done when ``work`` ends, or at once if no thread can be started.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    try:
        threading.Thread(target=run, name="store", daemon=True).start()
    except RuntimeError as error:
        result.set_exception(error)
    return result


class StoreThreads:
    """Threads in which the API calls the artifact store. They are few, and nothing else uses them. A call that waits
    for a free thread occupies no thread.

    Args:
        seconds: time limit of one call, including the wait for a thread.
    """

    def __init__(self, seconds: float = CALL_SECONDS, threads: int = THREADS) -> None:
        self._seconds = seconds
        self._free = asyncio.Semaphore(threads)

    async def call(self, work: Callable[..., T], *arguments: object) -> T:
        """Call ``work`` in one of the threads, and return its result.

        Raises:
            Unavailable: the store does not answer in time.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                await self._free.acquire()
                result = start(lambda: work(*arguments))
                result.add_done_callback(lambda _: _tell(loop, self._free.release))
                return await asyncio.wrap_future(result)
        except TimeoutError:
            wrong = f"the artifact store does not answer within {self._seconds:g} s; try again later"
            raise Unavailable(wrong, retry_after=round(self._seconds)) from None

    async def pieces(self, content: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the pieces of an iterator, each within the time limit.

        Raises:
            Unavailable: the store does not answer in time.
        """
        while (piece := await self.call(next, content, b"")) != b"":
            yield piece


def _tell(loop: asyncio.AbstractEventLoop, release: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(release)

"""Threads that read the bodies of requests. They are few, so that the event loop has its turn soon, however much
arrives.
"""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

T = TypeVar("T")

MAX_AT_ONCE = 2  # more would not be faster, since Python code of one process runs one thread at a time
_LIMITER: RunVar[CapacityLimiter] = RunVar("readers")


async def in_reader(read: Callable[..., T], *arguments: object) -> T:
    """Call ``read`` in one of the few threads for bodies, and wait for its result."""
    try:
        limiter = _LIMITER.get()
    except LookupError:
        limiter = CapacityLimiter(MAX_AT_ONCE)
        _LIMITER.set(limiter)
    return await anyio.to_thread.run_sync(read, *arguments, limiter=limiter)

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
_SLOW_LIMITER: RunVar[CapacityLimiter] = RunVar("slow readers")


async def in_reader(read: Callable[..., T], *arguments: object) -> T:
    """Call ``read`` in one of the few threads for bodies, and wait for its result."""
    return await _call(_LIMITER, MAX_AT_ONCE, read, *arguments)


async def in_slow_reader(read: Callable[..., T], *arguments: object) -> T:
    """Call ``read``, which takes seconds, in the only thread for such work, and wait for its result. Bodies of other
    requests do not wait for it."""
    return await _call(_SLOW_LIMITER, 1, read, *arguments)


async def _call(variable: RunVar[CapacityLimiter], most: int, read: Callable[..., T], *arguments: object) -> T:
    try:
        limiter = variable.get()
    except LookupError:
        limiter = CapacityLimiter(most)
        variable.set(limiter)
    return await anyio.to_thread.run_sync(read, *arguments, limiter=limiter)

"""Permits of clients: tell if a client may still have an answer that goes on for long."""

import time
from collections.abc import Callable

from fastapi import Request
from starlette.concurrency import run_in_threadpool

CHECK_SECONDS = 10.0  # between two looks


class Permit:
    """Permit of a client.

    Args:
        is_valid: looks whether it is so still; None if nobody asks for keys.
    """

    def __init__(self, is_valid: Callable[[], bool] | None = None) -> None:
        self._is_valid = is_valid
        self._looked, self._holds = time.monotonic(), True

    async def holds(self) -> bool:
        """Tell if the permit held at the last look, which is at most ``CHECK_SECONDS`` ago."""
        if self._is_valid is not None and time.monotonic() - self._looked >= CHECK_SECONDS:
            self._holds = self._holds and await run_in_threadpool(self._is_valid)
            self._looked = time.monotonic()
        return self._holds


def permit_of(request: Request) -> Permit:
    """The permit of a request that was let in."""
    permit: Permit = getattr(request.state, "permit", None) or Permit()
    return permit

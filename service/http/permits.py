"""Permits of clients: during a long answer, a permit tells if the client may still have the answer."""

import time
from collections.abc import Callable

from fastapi import Request
from starlette.concurrency import run_in_threadpool

CHECK_SECONDS = 10.0  # between two checks of a permit


class Permit:
    """Permit of a client to receive an answer.

    Args:
        is_valid: function that checks whether the client's key is still valid; None if the service asks for no keys.
    """

    def __init__(self, is_valid: Callable[[], bool] | None = None) -> None:
        self._is_valid = is_valid
        self._looked, self._holds = time.monotonic(), True

    async def holds(self) -> bool:
        """Tell if the permit held at its last check, which is at most ``CHECK_SECONDS`` ago."""
        if self._is_valid is not None and time.monotonic() - self._looked >= CHECK_SECONDS:
            self._holds = self._holds and await run_in_threadpool(self._is_valid)
            self._looked = time.monotonic()
        return self._holds


def permit_of(request: Request) -> Permit:
    """Permit of a request that was accepted."""
    permit: Permit = getattr(request.state, "permit", None) or Permit()
    return permit

"""A PostgreSQL connection on which every call has a deadline.

The kernel notices when the other machine is gone. It does not notice a machine that is there but says nothing, such as
a stalled proxy or a stopped server. So the client watches the time itself, and closes a connection that did not answer:
a late answer would belong to no call.
"""

import time
from collections.abc import Generator
from typing import Any, TypeVar

from psycopg import Connection, OperationalError
from psycopg.abc import PQGen

Answer = TypeVar("Answer")


class Patience:
    """Time limit of one statement's answer. It may be shortened while calls are under way."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class TimedConnection(Connection[Any]):
    """A connection that is closed when the server is silent for too long."""

    patience = Patience(float("inf"))

    def wait(self, gen: PQGen[Answer], *args: Any, **options: Any) -> Answer:
        """Wait for a call's answer.

        Raises:
            OperationalError: the answer did not come in time; the connection is closed.
        """
        return super().wait(self._in_time(gen), *args, **options)

    def _in_time(self, call: PQGen[Answer]) -> Generator[Any, Any, Answer]:
        """Run the call until its deadline. psycopg resumes it ten times a second while no data arrives."""
        began = time.monotonic()
        try:
            wanted = next(call)
            while True:
                ready = yield wanted
                waited = time.monotonic() - began
                if not ready and waited > self.patience.seconds:
                    self.pgconn.finish()
                    raise OperationalError(f"the database server did not answer within {waited:.1f} s")
                wanted = call.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

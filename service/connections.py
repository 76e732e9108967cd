"""What a connection may cost before it has asked for anything: uvicorn's protocol with bounds that it lacks.

A request's head must come soon and be small, its body must come to an end, and of all connections without a request
only so many are kept: the longest idle one makes room. Answers may take as long as they like, event streams above all.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 10.0
BODY_SECONDS = 60.0
IDLE_CONNECTIONS = 400  # file descriptors are few: often 1,024


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    idle: ClassVar[dict["BoundedProtocol", None]] = {}  # all connections without a request, the longest idle one first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes, self._in_body = 0, False
        self._deadline: asyncio.TimerHandle | None = None
        self._expect_within(HEAD_SECONDS)
        self._is_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self.idle.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self in self.idle and self._deadline is None:
            self._expect_within(HEAD_SECONDS)
        super().data_received(data)
        if self in self.idle and not self._in_body:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The request's head is too large.")

    def on_headers_complete(self) -> None:
        self.idle.pop(self, None)
        self._in_body = True
        self._expect_within(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        self._expect_nothing()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # else the next request is here already
            self._head_bytes = 0
            self._is_idle()

    def _is_idle(self) -> None:
        self.idle[self] = None
        if len(self.idle) > IDLE_CONNECTIONS:
            longest = next(iter(self.idle))
            del self.idle[longest]
            longest.transport.close()

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

"""uvicorn's HTTP protocol, with limits on connections before their request has arrived in full.

The head of a request must be small and arrive soon, and so must the trailers after its body; the body must end in time.
The number of connections whose next request has not arrived in full is limited: the connection that has waited longest
is closed to make room. An answer may take any time, as an event stream does, as long as the client takes some of what
is sent.
"""

import asyncio
import socket
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from service.errors import BadRequest
from service.http.problems import problem

HEAD_BYTES = 64 * 1024  # a limit that the last read may exceed
HEAD_SECONDS = 10.0
BODY_SECONDS = 60.0
SEND_SECONDS = 60.0  # for a client to take more of an answer; only where the system has TCP_USER_TIMEOUT
PIPELINED_REQUESTS = 16  # requests that may wait while an earlier request is answered; each takes kilobytes
PENDING_CONNECTIONS = 400  # file descriptors are few: often 1,024


class BoundedProtocol(HttpToolsProtocol):
    """HTTP connection with limits on the size and the time of each request."""

    pending: ClassVar[dict["BoundedProtocol", None]] = {}  # the request has not arrived in full; oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._framing_bytes, self._in_body = 0, False  # bytes outside of bodies, since the last body or request
        self._answered: RequestResponseCycle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            connection: socket.socket = transport.get_extra_info("socket")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * SEND_SECONDS))
        self._is_pending()
        self._expect_within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self.pending.pop(self, None)
        super().connection_lost(exc)
        if self._answered is not None:  # uvicorn informs only the newest request, which may still wait for its turn
            self._answered.disconnected = True
            self._answered.message_event.set()

    def data_received(self, data: bytes) -> None:
        self._framing_bytes += len(data)
        super().data_received(data)
        if self._framing_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"The request's head is over {HEAD_BYTES} bytes; send fewer or shorter headers.")
        elif self._deadline is None and self in self.pending:
            self._expect_within(BODY_SECONDS if self._in_body else HEAD_SECONDS)

    def send_400_response(self, msg: str) -> None:
        if self._in_body:
            is_next = self.cycle is self._answered and not self.cycle.response_started
        else:
            is_next = self.cycle is None or self.cycle.response_complete
        if is_next:  # otherwise the client would read it as the answer to another request
            refusal = problem(BadRequest(msg))
            headers = [b"%b: %b\r\n" % header for header in (*refusal.raw_headers, (b"connection", b"close"))]
            self.transport.write(b"".join([b"HTTP/1.1 400 Bad Request\r\n", *headers, b"\r\n", refusal.body]))
        self.transport.close()

    def on_message_begin(self) -> None:
        self._is_pending()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # after a body come trailers, which must not count as headers (RFC 9110, 6.5.1)
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) == PIPELINED_REQUESTS:
            raise ValueError("too many requests in advance")
        self._framing_bytes, self._in_body = 0, True
        self._expect_nothing()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._framing_bytes, self._in_body = 0, False
        self._expect_nothing()
        if not self.cycle.response_complete:  # otherwise the request was answered before it arrived in full
            self.pending.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():  # otherwise the next request is here
            self._is_pending()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _is_pending(self) -> None:
        self.pending.setdefault(self)
        if len(self.pending) > PENDING_CONNECTIONS:
            longest = next(iter(self.pending))
            del self.pending[longest]
            longest.transport.close()

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

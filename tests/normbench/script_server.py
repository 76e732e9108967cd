"""Scripted server, for answers that a real service gives only while it fails or ends."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Answer of the server. A body of None ends the connection at once; ``breaks_off`` ends it before the promised
    length.
    """

    body: Any = None
    status: int = 200
    content_type: str = "application/json"
    breaks_off: bool = False


@dataclass(frozen=True)
class Request:
    """Request that the server received."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Script:
    """Answers in their order, of which the last is repeated, and the requests so far."""

    answers: Sequence[Answer]
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def next(self, request: Request) -> Answer:
        self.requests.append(request)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


HANG_UP = Answer()
AWAY = Answer({"detail": "the database does not answer"}, 503)


@contextmanager
def scripted(*answers: Answer) -> Iterator[Script]:
    """A server on a free port that follows the script."""
    script = Script(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self.rfile.read(length)
            answer = script.next(Request(self.command, self.path, dict(self.headers.items())))
            self.close_connection = True
            if answer.body is None:
                return
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(body) + answer.breaks_off))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def do_DELETE(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

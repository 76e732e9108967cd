"""File server in a thread. It can break connections, change its file, and support ranges rightly, wrongly or not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Behaviour of the server; a test changes it between requests.

    Attributes:
        validators: headers that identify the version of the file.
        ranges: whether the server answers requests of a range with a part.
        heeds_if_range: whether the server respects If-Range.
        starts_at: first byte of every part, instead of the requested byte.
        breaks_after: number of bytes of an answer before the connection breaks.
        asked: Range and If-Range of each request.
    """

    content: bytes
    validators: dict[str, str] = field(default_factory=lambda: {"ETag": '"1"'})
    ranges: bool = True
    heeds_if_range: bool = True
    starts_at: int | None = None
    breaks_after: int | None = None
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    url: str = ""

    def answer(self, range_: str | None, if_range: str | None) -> tuple[int, dict[str, str], bytes]:
        self.asked.append((range_, if_range))
        start = int(range_.removeprefix("bytes=").removesuffix("-")) if range_ else 0
        unchanged = if_range is None or if_range in self.validators.values() or not self.heeds_if_range
        if not (range_ and self.ranges and unchanged):
            return 200, self.validators, self.content
        start, size = self.starts_at or start, len(self.content)
        if start >= size:
            return 416, {}, b""
        return 206, {**self.validators, "Content-Range": f"bytes {start}-{size - 1}/{size}"}, self.content[start:]


@contextmanager
def serving(server: FileServer) -> Iterator[FileServer]:
    """Serve the file at ``server.url``, for every path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = server.answer(self.headers["Range"], self.headers["If-Range"])
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[: server.breaks_after])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        server.url = f"http://127.0.0.1:{http.server_port}/file.bin"
        yield server
        http.shutdown()

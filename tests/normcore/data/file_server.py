"""A file server in a thread, which can break off, change its file, and know ranges well, badly or not at all."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Behaviour of the server; a test changes it between requests.

    Attributes:
        validators: headers that tell versions of the file apart.
        ranges: whether it sends a part when asked for one.
        heeds_if_range: whether it then looks at If-Range.
        starts_at: where a part begins, whatever was asked for.
        breaks_after: how many bytes of an answer it sends before it breaks the connection.
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
    """Serve the file at ``server.url``, whatever the path."""

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

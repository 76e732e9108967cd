"""Compression of answers to ``GET`` for clients that accept it. Answers to ``POST`` are small and should come soon."""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipResponder
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.tables import PARQUET

EXCLUDED = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream", PARQUET)  # Parquet compresses itself
REFUSED = re.compile(r"\s*q=0(\.0*)?\s*", re.IGNORECASE)


class CompressGet:
    """Compresses answers with gzip, except event streams and binary files.

    The bytes of a compressed answer differ from the bytes of the file, so its ``ETag`` is weak and no ranges are
    offered. A client that resumes a download with ``If-Range`` gets the whole file again, and never mixes bytes of the
    file with compressed bytes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return

        async def send_told_apart(message: Message) -> None:
            if message["type"] == "http.response.start":
                _tell_apart(message["status"], MutableHeaders(raw=message["headers"]))
            await send(message)

        app = self._app
        if accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
            app = GZipResponder(app, minimum_size=1024, compresslevel=5, exclude_content_types=EXCLUDED)
        await app(scope, receive, send_told_apart)


def accepts_gzip(accept_encoding: str) -> bool:
    """Tell if an ``Accept-Encoding`` header allows gzip (RFC 9110, section 12.5.3)."""
    codings = (coding.partition(";") for coding in accept_encoding.split(","))
    return any(name.strip().lower() == "gzip" and not REFUSED.fullmatch(weight) for name, _, weight in codings)


def _tell_apart(status: int, headers: MutableHeaders) -> None:
    """Set headers that distinguish a compressed answer from a plain answer, because another client may get the other
    answer. A 304 may stand for either.
    """
    if "accept-encoding" not in headers.get("vary", "").lower():
        headers.add_vary_header("Accept-Encoding")
    compressed = headers.get("content-encoding") == "gzip"
    if compressed:
        del headers["Accept-Ranges"]
    if (compressed or status == 304) and headers.get("etag", "").startswith('"'):
        headers["ETag"] = f"W/{headers['etag']}"

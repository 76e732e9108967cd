"""``ETag`` and ``304 Not Modified``: a client that asks again for unchanged content gets a few bytes."""

import hashlib
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.figures import PRINTED
from service.http.tables import MEDIA_TYPES

TAGGED = {*MEDIA_TYPES.values(), *PRINTED.values(), "text/html"}
LARGE = 1 << 18  # bytes; a larger answer gets its tag in another thread
KEPT_IN_304 = ("etag", "cache-control", "vary", "date", "content-security-policy")


class Revalidate:
    """Gives JSON, tables, figures and pages that answer a ``GET`` an ``ETag``, made from the content. A client that
    already has this content gets 304.

    The ``ETag`` is weak, because it is the same for the compressed and the plain answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def send_tagged(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _can_be_tagged(message):
                start = message
                return
            if start is not None and message["type"] == "http.response.body":
                head: Message = start
                if not message.get("more_body", False):
                    revalidate = partial(_revalidate, head, message, Headers(scope=scope).get("if-none-match", ""))
                    is_large = len(message.get("body", b"")) > LARGE
                    head, message = await run_in_threadpool(revalidate) if is_large else revalidate()
                await send(head)
                start = None
            await send(message)

        await self._app(scope, receive, send_tagged)


def etag_matches(if_none_match: str, etag: str) -> bool:
    """Compare tags by the weak comparison of RFC 9110, section 13.1.2."""
    known = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in known or etag.removeprefix("W/") in known


def _can_be_tagged(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    media_type = headers.get("content-type", "").partition(";")[0]
    return start["status"] == 200 and media_type in TAGGED and "etag" not in headers


def _revalidate(start: Message, body: Message, if_none_match: str) -> tuple[Message, Message]:
    etag = f'W/"{hashlib.blake2b(body.get("body", b""), digest_size=16).hexdigest()}"'
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["ETag"] = etag
    headers.setdefault("Cache-Control", "no-cache")  # clients may store it, and must ask whether it has changed
    if if_none_match and etag_matches(if_none_match, etag):
        kept = [(name, value) for name, value in headers.raw if name.decode() in KEPT_IN_304]
        return {**start, "status": 304, "headers": kept}, {**body, "body": b""}
    return {**start, "headers": headers.raw}, body

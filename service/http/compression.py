"""Answers to ``GET`` are compressed for clients that ask; those to ``POST`` are small, and due soon."""

from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send


class CompressGet(GZipMiddleware):
    """gzip for all but event streams, and files that come in ranges."""

    def __init__(self, app: ASGIApp) -> None:
        excluded = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream")
        super().__init__(app, minimum_size=1024, compresslevel=5, exclude_content_types=excluded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)

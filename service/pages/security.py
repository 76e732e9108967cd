"""Headers that limit what browsers do with our answers."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    "; img-src 'self' blob: data:"  # a figure becomes a picture in the page before it is saved as a file
)


class ProtectBrowsers:
    """Middleware that adds headers to protect browsers.

    With these headers browsers load nothing from other hosts, ignore scripts and styles inside of a page, put no page
    into a frame, and do not guess media types. An answer may have its own policy, as the guide has.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.setdefault("Content-Security-Policy", POLICY)  # the guide has its own policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
            await send(message)

        await self._app(scope, receive, send_with_headers)

"""Answers to ``HEAD`` at every address that takes ``GET``, and a list of the methods that an address takes."""

from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class AnswerHead:
    """Answers ``HEAD`` with the headers of ``GET`` and without a body. The rest of a stream is not read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = False

        async def headers_only(message: Message) -> None:
            nonlocal answered
            if message["type"] != "http.response.body":
                await send(message)
            elif not answered:
                answered = True
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            if answered and message.get("more_body", False):
                raise OSError("the client wants no body")  # the error that a server raises when the client is gone

        inner = {**scope, "method": "GET"}  # a copy, because the server reads its own
        try:
            await self._app(inner, receive, headers_only)
        except (OSError, ClientDisconnect):
            if not answered:
                raise
        finally:
            scope["route"] = inner.get("route")


def allowed_methods(app: FastAPI, scope: Scope) -> list[str]:
    """List the methods that the address of a request takes."""
    routes = [route for route in app.routes if not isinstance(route, Mount)]  # mounts serve files, for reading only
    found = {
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    } or {"GET"}
    return sorted(found | {"OPTIONS"} | ({"HEAD"} if "GET" in found else set()))

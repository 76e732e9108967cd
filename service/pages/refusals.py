"""Pages for errors: a browser that asks for a page gets a page, a program gets the problem as JSON."""

import json
import logging
from typing import Any

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.errors import Defect
from service.http.problems import MEDIA_TYPE
from service.pages.rendering import address, here, html

log = logging.getLogger(__name__)

NOT_PAGES = ("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/static/")
NEXT_STEPS = {
    401: ("Sign in with an API key", "/sign-in"),
    403: ("Open the page itself, not from another site", "/"),
    404: ("See all boards", "/boards"),
    422: ("See all boards", "/boards"),
}
OF_EXPERIMENTS = ("See all experiments", "/experiments")
OF_ALL_OTHERS = ("Go to the first page", "/")
FOREIGN = ("cross-site", "same-site")
REPLACED = ("content-length", "content-type")


class ShowRefusals:
    """Middleware that turns problems into pages for browsers. The HTTP status stays."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not wants_page(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = bytearray()
        begun = False

        async def send_as_page(message: Message) -> None:
            nonlocal start, begun
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
                return
            if start is None:
                begun = True
                await send(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                begun = True
                await _send_page(scope, start, json.loads(body), send)

        try:
            await self._app(scope, receive, send_as_page)
        except Exception as error:
            if not begun:
                problem = Defect(type(error).__name__).problem()
                await _send_page(scope, {"type": "http.response.start", "status": 500, "headers": []}, problem, send)
            raise  # to the server's log


def wants_page(scope: Scope) -> bool:
    """Tell if a browser asks for one of our pages."""
    accept = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "POST") and "text/html" in accept and not scope["path"].startswith(NOT_PAGES)


def _next_step(path: str, status: int) -> tuple[str, str]:
    """Next step for the user after a refused request: a text, and its link."""
    if status in (404, 422) and path.startswith(("/experiments", "/runs/")):
        return OF_EXPERIMENTS
    return NEXT_STEPS.get(status, OF_ALL_OTHERS)


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type") == MEDIA_TYPE


def _came_by_a_foreign_link(scope: Scope) -> bool:
    """Tell if the browser follows a link from another site. It sends no key then (``SameSite=Strict``)."""
    return Headers(scope=scope).get("sec-fetch-site") in FOREIGN


async def _send_page(scope: Scope, start: Message, problem: dict[str, Any], send: Send) -> None:
    step, to = _next_step(scope["path"], problem["status"])
    moves_on = False
    if problem["status"] == 401 and scope["method"] == "GET":
        to = address(to, back=here(Request(scope)))
        moves_on = _came_by_a_foreign_link(scope)
    content = html(Request(scope), "error.html", problem=problem, step=step, to=to, moves_on=moves_on).encode()
    kept = [(name, value) for name, value in start["headers"] if name.decode().lower() not in REPLACED]
    headers = MutableHeaders(raw=kept)
    headers["Content-Type"] = "text/html; charset=utf-8"
    headers["Content-Length"] = str(len(content))
    headers["Cache-Control"] = "no-store"
    await send({**start, "headers": headers.raw})
    await send({"type": "http.response.body", "body": content})

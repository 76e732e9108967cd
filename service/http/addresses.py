"""Addresses that cannot exist."""

from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import BadRequest
from service.http.problems import problem


class RefuseNul:
    """Refuses an address with a NUL character: no name here contains one, and PostgreSQL cannot search for it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            app = problem(BadRequest("the address holds a NUL character; nothing here is called so"))
        await app(scope, receive, send)

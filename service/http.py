"""What routes share: dependencies, bodies, pages and problems."""

import base64
import binascii
import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Generic, Protocol, TypeVar

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from service.artifacts import Artifacts
from service.db import Database
from service.errors import BadRequest, ServiceError, TooLarge
from service.queue import Doorbell
from service.settings import Settings

Item = TypeVar("Item")


class Parts(Protocol):
    """What ``create_app`` keeps in the application's state."""

    settings: Settings
    db: Database
    artifacts: Artifacts
    doorbell: Doorbell


# Dependencies are coroutines because FastAPI sends each that is not to a thread and back. Each has its cost: a route
# that needs more than the database asks for all parts at once.


async def parts(request: Request) -> Parts:
    state: Parts = request.app.state
    return state


async def database(request: Request) -> Database:
    db: Database = request.app.state.db
    return db


PartsDep = Annotated[Parts, Depends(parts)]
DatabaseDep = Annotated[Database, Depends(database)]


class Problem(BaseModel):
    """RFC 9457 problem details; ``errors`` names the fields of invalid input."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None


class ProblemResponse(JSONResponse):
    """A problem, escaped to ASCII so that whatever the client sent can be quoted."""

    media_type = "application/problem+json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def problem(error: ServiceError) -> ProblemResponse:
    return ProblemResponse(error.problem(), status_code=error.status)


class RefuseNul:
    """Refuses an address with a NUL character: nothing here is called so, and PostgreSQL cannot even look."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and ("\0" in scope["path"] or b"%00" in scope["query_string"]):
            app = problem(BadRequest("the address holds a NUL character; nothing here is called so"))
        await app(scope, receive, send)


# -- bodies ----------------------------------------------------------------------------------------


async def json_body(request: Request) -> Any:
    """The body as JSON, read no further than the limit.

    Raises:
        TooLarge, BadRequest
    """
    limit = request.app.state.settings.max_body_bytes
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(f"the body is over {limit} bytes; no spec is")
    try:
        return json.loads(bytes(body), parse_constant=_no_constant)
    except RecursionError:
        raise BadRequest("the body is nested too deeply; a spec has three levels") from None
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON; use a number or null")


JsonBody = Annotated[Any, Depends(json_body)]


# -- pages -----------------------------------------------------------------------------------------

ID = re.compile(r"[a-z]{3}_[0-9A-Z]{26}")


class Page(BaseModel, Generic[Item]):
    """A part of a list; ``next_cursor`` asks for what follows, null at the end."""

    items: list[Item]
    next_cursor: str | None = None


def encode_cursor(last_id: str) -> str:
    return base64.urlsafe_b64encode(last_id.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """The id after which to go on.

    Raises:
        BadRequest: no page ever gave this cursor.
    """
    try:
        last_id = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        last_id = ""
    if not ID.fullmatch(last_id):
        raise BadRequest("cursor: use next_cursor of the page before, unchanged")
    return last_id


def page(rows: Sequence[Any], limit: int, id_of: Any) -> tuple[list[Any], str | None]:
    """Of ``limit + 1`` rows asked for, those to show and the cursor to the rest."""
    shown = list(rows[:limit])
    return shown, encode_cursor(id_of(shown[-1])) if len(rows) > limit else None


Limit = Annotated[int, Query(ge=1, le=200, description="Items on a page.")]
Cursor = Annotated[str | None, Query(max_length=200, description="next_cursor of the page before.")]

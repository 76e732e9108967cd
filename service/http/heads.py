"""Early refusal of requests whose address or headers no real client of this service sends. Nothing is looked up for
such a request, and its length does not change the time that the refusal takes.
"""

from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Receive, Scope, Send

from normcore.spec import SpecError
from normcore.spec.messages import quote_value
from service.errors import BadRequest, Invalid, ServiceError
from service.http.problems import problem

MAX_PATH = 2_000  # characters of an address without its query
MAX_PARAMETERS = 100
MAX_VALUE = 16 * 1024  # characters of a parameter or a header: the event id of 1,000 runs has 14,000
MAX_HEADERS = 100


class BoundHeads:
    """Refuses requests whose address has a NUL character: no name here contains NUL, and PostgreSQL cannot search for
    it. Also refuses an address, a parameter or a header that is too long, and too many parameters or headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope) if scope["type"] == "http" else None
        app = self._app if refusal is None else problem(refusal)
        await app(scope, receive, send)


def _refusal(scope: Scope) -> ServiceError | None:
    query: bytes = scope["query_string"]
    if "\0" in scope["path"] or b"%00" in query:
        return BadRequest("the address holds a NUL character; no name here contains one")
    if len(scope["path"]) > MAX_PATH:
        return BadRequest(f"the address has over {MAX_PATH:,} characters; no address of this service is that long")
    if len(scope["headers"]) > MAX_HEADERS:
        return BadRequest(f"the request has over {MAX_HEADERS} headers; send fewer")
    for name, value in scope["headers"]:
        if len(name) + len(value) > MAX_VALUE:
            return BadRequest(f"the header {_quote_name(name)} has over {MAX_VALUE:,} characters; shorten it")
    if query.count(b"&") >= MAX_PARAMETERS:
        return Invalid([_too_many(query)])
    if len(query) > MAX_VALUE:
        errors = list(_too_long(query))
        return Invalid(errors) if errors else None
    return None


def _too_many(query: bytes) -> SpecError:
    """Build the error for too many parameters. It names the most frequent of the first parameters."""
    first = query.split(b"&", MAX_PARAMETERS)[:MAX_PARAMETERS]
    [(name, _)] = Counter(part.partition(b"=")[0] for part in first).most_common(1)
    wrong = f"an address may have {MAX_PARAMETERS} parameters, and this has {query.count(b'&') + 1:,}; give fewer"
    return SpecError((_name(name),), wrong, "too_many")


def _too_long(query: bytes) -> Iterator[SpecError]:
    for part in query.split(b"&"):
        if len(part) > MAX_VALUE:
            wrong = f"the parameter has over {MAX_VALUE:,} characters; shorten it"
            yield SpecError((_name(part.partition(b"=")[0]),), wrong, "too_long")


def _name(written: bytes) -> str:
    return unquote_plus(written[:100].decode("latin-1"), errors="replace")


def _quote_name(name: bytes) -> str:
    return quote_value(name[:100].decode("latin-1"))

"""Refusals of requests: one class for each HTTP status.

All classes are below ``ServiceError``:

    ServiceError
    ├── BadRequest        400   the request cannot be read
    ├── Unauthorized      401   there is no key, or an unknown key
    ├── Forbidden         403   a browser sent this for another site's page
    ├── NotFound          404   there is no such thing
    ├── NotAllowed        405   the address does not take this method
    ├── NotAcceptable     406   the client takes no format that there is
    ├── Conflict          409   the thing is in a state that forbids this
    ├── TooLarge          413   the body is larger than any spec
    ├── BadRange          416   the file ends before the range that was asked for
    ├── Misdirected       421   the request is for a host that the service does not serve
    ├── Invalid           422   the request is readable and wrong; ``errors`` says where
    ├── Defect            500   the service's own fault
    ├── NotInstalled      501   the service lacks an optional package that this needs
    └── Unavailable       503   something the service needs is away
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from normcore.spec import SpecError

MAX_LETTERS = 20_000  # characters of an answer's ``detail``, which may repeat what the client sent


class ServiceError(Exception):
    """Refusal of a request. The exception's message is the ``detail`` of the answer."""

    status: int
    title: str
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail if len(detail) <= MAX_LETTERS else f"{detail[:MAX_LETTERS]}…"

    def problem(self) -> dict[str, Any]:
        """Body of the answer: problem details as in RFC 9457."""
        return {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}


class BadRequest(ServiceError):
    status, title = 400, "Bad request"


class Unauthorized(ServiceError):
    status, title = 401, "Unauthorized"
    headers = MappingProxyType({"WWW-Authenticate": "Bearer"})


class Forbidden(ServiceError):
    status, title = 403, "Forbidden"


class NotFound(ServiceError):
    status, title = 404, "Not found"


class NotAllowed(ServiceError):
    status, title = 405, "Method not allowed"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"this address does not take {method[:20]}; it takes {', '.join(allowed)}")
        self.headers = {"Allow": ", ".join(allowed)}


class NotAcceptable(ServiceError):
    status, title = 406, "Not acceptable"


class Conflict(ServiceError):
    status, title = 409, "Conflict"


class TooLarge(ServiceError):
    status, title = 413, "Body too large"


class BadRange(ServiceError):
    status, title = 416, "Range not satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"the file has only {size} bytes; ask for a range within them")
        self.headers = {"Content-Range": f"bytes */{size}"}


class Misdirected(ServiceError):
    status, title = 421, "Misdirected request"


class Invalid(ServiceError):
    status, title = 422, "Invalid input"

    def __init__(self, errors: Sequence[SpecError]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, e.loc)) or 'body'}: {e.msg}" for e in errors))
        self.errors = list(errors)

    def problem(self) -> dict[str, Any]:
        return {**super().problem(), "errors": [asdict(error) for error in self.errors]}


class Defect(ServiceError):
    status, title = 500, "Internal error"


class NotInstalled(ServiceError):
    status, title = 501, "Not installed"


class Unavailable(ServiceError):
    status, title = 503, "Unavailable"

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.headers = {"Retry-After": str(retry_after)}

"""Errors that the client raises. Each message is for people.

The tree shows which class is below which, with the HTTP status of the service's answer:

    NormbenchError        any of these, or the server that answers is not normbench
    ├── Unreachable       no service answers at the address
    ├── Refused           the service said no: ``status``, and ``errors`` by field
    │   ├── Unauthorized  401   no key, or a key that the service does not know
    │   ├── NotFound      404   no such thing
    │   ├── Conflict      409   the thing is in a state that forbids this
    │   ├── Invalid       422   the request is wrong; ``errors`` says where
    │   └── Unavailable   502, 503, 504   something that the service needs is away; try the same request later
    ├── StillRunning      ``wait`` gave up; the runs go on
    └── Missing           a package that was not installed; the message says how to get it
"""

from collections.abc import Sequence
from typing import TypedDict


class FieldError(TypedDict):
    """Error of one field: its path in the request, a message, and a stable code."""

    loc: list[str | int]
    msg: str
    type: str


class NormbenchError(Exception):
    """Base class of all errors of the client.

    Attributes:
        status: the HTTP status of the service's answer; None if there was no answer.
        errors: one error for each wrong field that the service names; may be empty.
    """

    def __init__(self, message: str, *, status: int | None = None, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.errors = list(errors)


class Unreachable(NormbenchError):
    """Error: no service answers at the address."""


class Refused(NormbenchError):
    """Error: the service refused the request."""


class Unauthorized(Refused):
    """Error: no API key was sent, or the service does not know the key."""


class NotFound(Refused):
    """Error: the service does not have what was asked for."""


class Conflict(Refused):
    """Error: the thing that the request names is in a state that does not allow the request."""


class Invalid(Refused):
    """Error: the request is wrong; ``errors`` says where. ``status`` is None if the request was never sent."""


class Unavailable(Refused):
    """Error: something that the service needs is away. The same request may succeed later."""


class StillRunning(NormbenchError, TimeoutError):
    """Error: the time to wait is over. The runs go on."""


class Missing(NormbenchError, ImportError):
    """Error: a package is not installed. The message says how to get it."""


BY_STATUS: dict[int, type[Refused]] = {
    401: Unauthorized,
    404: NotFound,
    409: Conflict,
    422: Invalid,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}

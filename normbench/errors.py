"""Errors between a user and the service, as one tree. Each message is for people.

NormbenchError        anything of these, or what answers is no normbench
├── Unreachable       no service answers at the address
├── Refused           the service said no: ``status``, and ``errors`` by field
│   ├── Unauthorized  401   no key, or none that it knows
│   ├── NotFound      404   no such thing
│   ├── Conflict      409   the thing is in a state that forbids this
│   ├── Invalid       422   the request is wrong; ``errors`` says where
│   └── Unavailable   502, 503, 504   something the service needs is away; the same request may do later
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
    """Anything foreseen that went wrong.

    Attributes:
        status: the HTTP status of the service's answer, if there was one.
        errors: what the service said of each wrong field, if it did.
    """

    def __init__(self, message: str, *, status: int | None = None, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.errors = list(errors)


class Unreachable(NormbenchError):
    """Error: no service answers at the address."""


class Refused(NormbenchError):
    """The service said no."""


class Unauthorized(Refused):
    """Error: no API key was sent, or one that the service does not know."""


class NotFound(Refused):
    """The service has no such thing."""


class Conflict(Refused):
    """The thing is in a state that forbids this."""


class Invalid(Refused):
    """The request is wrong; ``errors`` says where. ``status`` is None where it was never sent."""


class Unavailable(Refused):
    """Something that the service needs is away; the same request may do later."""


class StillRunning(NormbenchError, TimeoutError):
    """The time to wait is over; the runs go on."""


class Missing(NormbenchError, ImportError):
    """A package that was not installed."""


BY_STATUS: dict[int, type[Refused]] = {
    401: Unauthorized,
    404: NotFound,
    409: Conflict,
    422: Invalid,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}

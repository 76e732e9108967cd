"""An Idempotency-Key stores one thing, however often a request is sent."""

from typing import Protocol, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.errors import Conflict


class Keyed(Protocol):
    """Row that a request may have stored, with its ``idempotency_key``."""

    @property
    def request_digest(self) -> str: ...


R = TypeVar("R", bound=Keyed)


def stored_before(session: Session, table: type[R], key: str | None, request_digest: str, noun: str) -> R | None:
    """The row that the same request with the same key has stored; None if there is none, or no key.

    Args:
        noun: what the request stores, in words.

    Raises:
        Conflict: the key was used with another request.
    """
    if key is None:
        return None
    known = session.scalar(select(table).filter_by(idempotency_key=key))
    if known is not None and known.request_digest != request_digest:
        raise Conflict(f"this Idempotency-Key was used with another body; use a new key for a new {noun}")
    return known

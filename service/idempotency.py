"""Idempotency-Key: a request that is sent again with the same key stores nothing new."""

from typing import Any, Protocol, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.spec import digest
from service.errors import Conflict


class KeyedRow(Protocol):
    """Row of a table that has an ``idempotency_key``, with the digest of the request that stored the row."""

    @property
    def request_digest(self) -> str: ...


R = TypeVar("R", bound=KeyedRow)


def digest_if_possible(body: Any) -> str | None:
    """Compute the digest of a request's body before the body is checked. None for a body that has no digest, such as a
    YAML object with numbers and texts as keys: nothing was ever stored for it.
    """
    try:
        return digest(body)
    except (TypeError, ValueError):
        return None


def find_earlier_row(session: Session, table: type[R], key: str | None, request_digest: str, noun: str) -> R | None:
    """Find the row that an earlier request with the same key and body has stored; None if there is no such row, or no
    key.

    Args:
        noun: word for what the request stores, such as "sweep".

    Raises:
        Conflict: the key was used with another body.
    """
    if key is None:
        return None
    known = session.scalar(select(table).filter_by(idempotency_key=key))
    if known is not None and known.request_digest != request_digest:
        raise Conflict(f"this Idempotency-Key was used with another body; use a new key for a new {noun}")
    return known

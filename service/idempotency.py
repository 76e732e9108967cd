"""Idempotency-Key: a request that is sent again with the same key stores nothing new."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from normcore.spec import digest
from service.errors import Conflict
from service.group_commit import GroupCommit


class Keyed(Protocol):
    """Row of a table that has an ``idempotency_key``, with the digest of the request that stored the row."""

    @property
    def request_digest(self) -> str: ...


R = TypeVar("R", bound=Keyed)
T = TypeVar("T")


def digest_if_possible(body: Any) -> str | None:
    """Compute the digest of a request's body before the body is checked. None for a body that has no digest, such as a
    YAML object with numbers and texts as keys: nothing was ever stored for it.
    """
    try:
        return digest(body)
    except (TypeError, ValueError):
        return None


async def write_once(commits: GroupCommit, write: Callable[[Session], T | Exception], key: str | None) -> T:
    """Write in a transaction. If two requests use one new key at the same time, the later request fails at the unique
    column of the key. Then ``write`` is called again, and finds what the earlier request has stored.
    """
    try:
        return await commits.write(write)
    except IntegrityError:
        if key is None:
            raise
        return await commits.write(write)


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

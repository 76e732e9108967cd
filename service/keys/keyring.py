"""Functions that make, list, revoke and check API keys."""

import hashlib
import secrets

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from normcore.spec import SpecError
from service.db import utc_now
from service.errors import Invalid, NotFound
from service.ids import new_id
from service.keys.tables import ApiKey

PREFIX = "nb_"
MAX_NAME = 100  # characters
SECRET_BYTES = 32  # random, so that a plain hash is enough


def create(session: Session, name: str) -> tuple[ApiKey, str]:
    """Make a new key. Return its row and the key itself, which is not stored.

    Raises:
        Invalid: the name is empty or too long.
    """
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise Invalid([SpecError(("name",), f"give 1 to {MAX_NAME} printable characters", "name")])
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(id=new_id("key"), name=name, sha256=_sha256(secret), created_at=utc_now())
    session.add(key)
    return key, secret


def keys(session: Session) -> list[ApiKey]:
    """List all keys, oldest first, including revoked keys."""
    return list(session.scalars(select(ApiKey).order_by(ApiKey.id)))


def revoke(session: Session, key_id: str) -> ApiKey:
    """Revoke a key. Revoking it again changes nothing.

    Raises:
        NotFound: there is no such key.
    """
    key = session.get(ApiKey, key_id)
    if key is None:
        raise NotFound(f"no key {key_id!r}; `normbench keys list` shows them")
    key.revoked_at = key.revoked_at or utc_now()
    return key


def any_valid(session: Session) -> bool:
    """Tell if there is a key that is not revoked."""
    return bool(session.scalar(select(exists().where(ApiKey.revoked_at.is_(None)))))


def is_valid(session: Session, secret: str) -> bool:
    """Tell if the key ``secret`` was created here and is not revoked."""
    return bool(session.scalar(select(exists().where(ApiKey.sha256 == _sha256(secret), ApiKey.revoked_at.is_(None)))))


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

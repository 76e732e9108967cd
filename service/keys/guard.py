"""Ask for an API key if the service listens beyond its own machine."""

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from service.db import Database
from service.errors import Unauthorized
from service.http.parts import DatabaseDep
from service.keys import keyring

bearer = HTTPBearer(auto_error=False, description="A key made by `normbench keys create`.")


async def require_key(
    db: DatabaseDep, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None
) -> None:
    """Raises:
    Unauthorized: no key, or none that is valid.
    """
    if credentials is None:
        raise Unauthorized("send a key as 'Authorization: Bearer nb_…'; `normbench keys create` makes one")
    if not await run_in_threadpool(_is_valid, db, credentials.credentials):
        raise Unauthorized("this key is unknown or revoked")


def _is_valid(db: Database, secret: str) -> bool:
    with db.snapshot() as session:
        return keyring.is_valid(session, secret)

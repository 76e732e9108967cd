"""Check of API keys, if the service listens beyond its own machine."""

from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from service.db import Database
from service.errors import Unauthorized
from service.http.dependencies import DatabaseDep
from service.http.permits import Permit
from service.keys import browser, keyring

bearer = HTTPBearer(auto_error=False, description="A key made by `normbench keys create`.")


async def require_key(
    request: Request,
    db: DatabaseDep,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
) -> None:
    """Check the API key of a request.

    Raises:
        Unauthorized: there is no key, or the key is not valid.
        Forbidden: the key is from a browser's cookie, and the request is not from one of our pages.
    """
    key = credentials.credentials if credentials else browser.key_of(request)
    if key is None:
        raise Unauthorized("send a key as 'Authorization: Bearer nb_…'; `normbench keys create` makes one")
    if not await run_in_threadpool(is_valid, db, key):
        raise Unauthorized("this key is unknown or revoked")
    request.state.permit = Permit(partial(is_valid, db, key))


def is_valid(db: Database, key: str) -> bool:
    with db.snapshot() as session:
        return keyring.is_valid(session, key)

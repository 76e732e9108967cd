"""Ask for a key where the service listens beyond its own machine."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from service.errors import Unauthorized
from service.http import DatabaseDep
from service.keys import keyring

bearer = HTTPBearer(auto_error=False, description="A key made by `normbench keys create`.")


def require_key(
    request: Request,
    db: DatabaseDep,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
) -> None:
    """Raises:
    Unauthorized: no key, or none that is valid.
    """
    if not request.app.state.require_keys:
        return
    if credentials is None:
        raise Unauthorized("send a key as 'Authorization: Bearer nb_…'; `normbench keys create` makes one")
    with db.snapshot() as session:
        if not keyring.is_valid(session, credentials.credentials):
            raise Unauthorized("this key is unknown or revoked")

"""The pages that sign in with a key, and sign out."""

from typing import Annotated

from fastapi import Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from service.http.dependencies import AppPartsDep
from service.keys import browser, guard
from service.pages.forms import FormFields, own_fields
from service.pages.rendering import own_path, page
from service.pages.routing import PageRouter

router = PageRouter()

NONE_GIVEN = "paste a key; `normbench keys create NAME` makes one"
NOT_VALID = "this key is unknown or revoked; ask whoever runs the service for another one"


@router.get("/sign-in")
def get_sign_in(request: Request, parts: AppPartsDep, back: Annotated[str | None, Query()] = None) -> Response:
    """Page that asks for a key. A browser that has a key goes on to the page that was asked for."""
    key, to = browser.key_of(request), own_path(back or "/")
    if key is None or not parts.require_keys:
        return _form(request, asks=parts.require_keys, back=to)
    if not guard.is_valid(parts.db, key):
        return _form(request, asks=True, back=to, error=NOT_VALID)
    return RedirectResponse(to, status_code=303) if back else _form(request, asks=True, back=to)


@router.post("/sign-in")
async def sign_in(request: Request, parts: AppPartsDep, fields: FormFields) -> Response:
    """Have the browser keep a valid key, and go on to the page that was asked for."""
    given = dict(fields)
    key, back = given.get("key", "").strip(), own_path(given.get("back", "/"))
    if not key:
        return _form(request, asks=parts.require_keys, back=back, error=NONE_GIVEN, status=422)
    if not await run_in_threadpool(guard.is_valid, parts.db, key):
        return _form(request, asks=parts.require_keys, back=back, error=NOT_VALID, status=401)
    answer = RedirectResponse(back, status_code=303)
    browser.keep(answer, request, key)
    return answer


@router.post("/sign-out", dependencies=[Depends(own_fields)])
def sign_out() -> Response:
    """Have the browser forget the key."""
    answer = RedirectResponse("/sign-in", status_code=303)
    browser.forget(answer)
    return answer


def _form(request: Request, *, asks: bool, back: str, error: str | None = None, status: int = 200) -> Response:
    return page(request, "sign_in.html", status=status, asks=asks, back=back, error=error)

"""Key of a user who signed in on a page. The browser keeps the key in a cookie that no script can read."""

import hmac
from hashlib import sha256

from fastapi import Request, Response

from service.errors import Forbidden

COOKIE = "normbench_key"
KEPT_SECONDS = 30 * 24 * 3600
READING = ("GET", "HEAD", "OPTIONS")
TOKEN = "csrf_token"
"""Name of the form field with a token: it proves that the form is from a page that was shown to this browser."""


def key_of(request: Request) -> str | None:
    """Read the key from the cookie that the browser sent.

    Raises:
        Forbidden: the request changes something, and nothing proves that one of our pages sent it. Requests of other
            sites' pages were refused before (``service.http.origin_check``).
    """
    key = request.cookies.get(COOKIE)
    if key is None or request.method in READING:
        return key
    if not {"sec-fetch-site", "origin"} & set(request.headers.keys()):
        raise Forbidden(
            "a key in a cookie may only change something from a page; programs send 'Authorization: Bearer nb_…'"
        )
    return key


def form_token(request: Request) -> str | None:
    """Token of a form for this browser; None if the browser has no key. The token does not reveal the key."""
    key = request.cookies.get(COOKIE)
    return None if key is None else hmac.new(key.encode(), TOKEN.encode(), sha256).hexdigest()


def check_form(request: Request, token: str) -> None:
    """Check the token of a form.

    Raises:
        Forbidden: the browser has a key, but the form is not from a page that was shown to it with this key.
    """
    expected = form_token(request)
    if expected is not None and not hmac.compare_digest(token.encode(), expected.encode()):
        raise Forbidden("this form is from before you signed in, or from elsewhere; load the page again")


def is_signed_in(request: Request) -> bool:
    """Tell if the browser has a key, valid or not."""
    return COOKIE in request.cookies


def keep(response: Response, request: Request, key: str) -> None:
    """Make the browser store the key in a cookie, and send it only from our own pages."""
    response.set_cookie(
        COOKIE, key, max_age=KEPT_SECONDS, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )


def forget(response: Response) -> None:
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")

"""Routes that need no key: files, the choice of colours, the description of the API."""

from typing import Annotated

from fastapi import Path, Request
from starlette.responses import RedirectResponse, Response

from service.errors import NotFound
from service.http.compression import accepts_gzip
from service.pages.forms import FormFields
from service.pages.rendering import THEMES, own_path, page
from service.pages.routing import PageRouter
from service.pages.static import FILES, MINIMUM_SIZE, media_type

router = PageRouter()

FOR_GOOD = "public, max-age=31536000, immutable"
A_YEAR = 365 * 24 * 3600  # seconds


@router.get("/static/{digest}/{name}")
def get_file(request: Request, digest: Annotated[str, Path()], name: Annotated[str, Path()]) -> Response:
    """A style, a script or a symbol; its address changes with its content."""
    try:
        if digest != FILES.digest:
            raise KeyError(digest)
        content = FILES.content(name)
    except KeyError:
        raise NotFound("this file is of another version of the service; load the page again") from None
    headers = {"Cache-Control": FOR_GOOD, "Vary": "Accept-Encoding"}
    if len(content) >= MINIMUM_SIZE and accepts_gzip(request.headers.get("accept-encoding", "")):
        content, headers["Content-Encoding"] = FILES.compress_file(name), "gzip"
    return Response(content, media_type=media_type(name), headers=headers)


@router.post("/theme")
def choose_theme(request: Request, fields: FormFields) -> Response:
    """Keep the choice of colours in a cookie, and go back to the page."""
    given = dict(fields)
    answer = RedirectResponse(own_path(given.get("back", "/")), status_code=303)
    if given.get("theme") in THEMES:
        answer.set_cookie("theme", given["theme"], max_age=A_YEAR, samesite="lax", secure=request.url.scheme == "https")
    else:
        answer.delete_cookie("theme")
    return answer


@router.get("/docs")
def get_docs(request: Request) -> Response:
    """The description of the API, to read and to try."""
    return page(request, "docs.html")

"""The guide: the site that ``make guide`` builds from ``docs/``. It can be read without internet."""

import base64
import hashlib
import os
import re
from pathlib import Path
from typing import Annotated

from fastapi import Path as InPath
from fastapi import Request
from starlette.responses import RedirectResponse, Response

from service.errors import NotFound
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.pages.static import media_type

router = PageRouter()

BUILT = Path(__file__).parent / "built_guide"
FIRST_PAGE = "index.html"
SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
POLICY = (
    "default-src 'self'; img-src 'self' data:; script-src 'self' {scripts}; object-src 'none'; base-uri 'none';"
    " frame-ancestors 'none'; form-action 'self'"
)
"""Content-Security-Policy of the guide. As everywhere, nothing comes from another host.

Material for MkDocs needs two things that the policy of the other pages forbids. Its styles draw symbols from ``data:``
addresses. Its pages contain a few short scripts, such as the choice of colours: each is allowed by the digest of its
text. The pages are files that were built with the code; nothing that a user wrote stands in them.
"""


@router.get("/guide")
def get_guide(request: Request) -> Response:
    """Redirect to the first page of the guide. If the guide is not built, show how to build it."""
    if not (BUILT / FIRST_PAGE).is_file():
        return page(request, "guide.html")
    return RedirectResponse(f"/guide/{FIRST_PAGE}")


@router.get("/guide/{path:path}")
def get_guide_file(path: Annotated[str, InPath()]) -> Response:
    """A file of the guide: a page, a style, a script, a picture or the index of the search."""
    file = (BUILT / path).resolve()
    if not file.is_relative_to(BUILT.resolve()) or not os.path.isfile(file):  # Path.is_file raises for long names
        raise NotFound(f"the guide has no page {path!r}; /guide leads to the first one")
    content = file.read_bytes()
    kept = "public, max-age=3600" if path.startswith("assets/") else "no-cache"
    headers = {"Cache-Control": kept, "Content-Security-Policy": policy(content)}
    return Response(content, media_type=media_type(file.name), headers=headers)


def policy(page: bytes) -> str:
    """Content-Security-Policy of a page. It allows the scripts that stand in the page."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{digest}'" for digest in dict.fromkeys(digests))
    return re.sub(" +;", ";", POLICY.format(scripts=scripts))

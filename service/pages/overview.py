"""The first page: what wins where, and what runs."""

from fastapi import Request
from starlette.responses import Response

from service.pages.rendering import page
from service.pages.routing import PageRouter

router = PageRouter()


@router.get("/")
def get_overview(request: Request) -> Response:
    """What wins where, what runs?"""
    return page(request, "overview.html")

"""Routes of pages."""

from typing import Any

from starlette.responses import HTMLResponse

from service.http.routing import Router


class PageRouter(Router):
    """A page's routes. They answer with HTML, and are no part of the API that is described."""

    def __init__(self, **options: Any) -> None:
        super().__init__(include_in_schema=False, default_response_class=HTMLResponse, **options)

"""Routes of pages."""

from typing import Any

from starlette.responses import HTMLResponse

from service.http.routing import Router


class PageRouter(Router):
    """Router of a page. Its routes answer with HTML, and are not in the API's description (OpenAPI)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(include_in_schema=False, default_response_class=HTMLResponse, **options)

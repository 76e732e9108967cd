"""Rendering of values as HTML: one environment of templates, one way to answer."""

from collections.abc import Callable, Hashable
from functools import cache
from importlib.metadata import version as version_of
from typing import Any, get_args
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from normcore.figures import Theme
from normcore.figures.styles import style_of
from service.http.dependencies import AppParts
from service.keys.browser import TOKEN, form_token, is_signed_in
from service.pages.formats import FILTERS
from service.pages.outcomes import find_divergence_step
from service.pages.static import FILES

THEMES: tuple[Theme, ...] = get_args(Theme)
KEY_HEADER = '-H "Authorization: Bearer $NORMBENCH_API_KEY"'
VERSION = version_of("normbench")


@cache
def templates() -> Environment:
    """Environment of the templates. It escapes every value, and a missing value is an error."""
    environment = Environment(
        loader=PackageLoader("service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {**FILTERS, "find_divergence_step": find_divergence_step}
    environment.globals |= {
        "static": FILES.address,
        "files": FILES,
        "style_of": style_of,
        "version": VERSION,
        "TOKEN": TOKEN,
        "address": address,
    }
    return environment


def address(path: str, **query: Any) -> str:
    """Address with a query. A parameter that is None is left out. A list repeats the parameter for each element."""
    given = {name: content for name, content in query.items() if content is not None}
    encoded = urlencode(given, doseq=True)
    return f"{quote(path)}?{encoded}" if encoded else quote(path)


def own_path(back: str) -> str:
    """Return ``back`` if it is a path of this service, else ``/``: ``//host`` and ``/\\host`` lead to other hosts."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"


def theme_of(request: Request) -> Theme | None:
    """Colours that the user chose, light or dark; None for the colours of the system."""
    chosen = request.cookies.get("theme")
    return next((theme for theme in THEMES if theme == chosen), None)


def here(request: Request) -> str:
    """Address of a request on this service: its path and query."""
    url = request.url
    return f"{url.path}?{url.query}" if url.query else url.path


def curl_of(request: Request) -> Callable[..., str]:
    """Make a function that writes a call of this service as a curl command, with a key if the service asks for keys."""
    origin = f"{request.url.scheme}://{request.url.netloc}"
    key = (KEY_HEADER,) if request.app.state.require_keys else ()

    def curl(path: str, *options: str) -> str:
        return " ".join(("curl -s", *key, f"'{origin}{path}'", *options))

    return curl


def html(request: Request, template: str, **values: Any) -> str:
    """Render a template as HTML.

    Every template also gets ``here_url``, the address of the request, and ``curl``, which writes calls of the API.
    """
    return (
        templates()
        .get_template(template)
        .render(
            theme=theme_of(request),
            signed_in=is_signed_in(request),
            token=form_token(request),
            here_url=here(request),
            curl=curl_of(request),
            **values,
        )
    )


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Answer with a page that may change at any time: browsers must ask for it again (``no-cache``)."""
    return HTMLResponse(html(request, template, **values), status, headers={"Cache-Control": "no-cache"})


def answer_from_cache(request: Request, parts: AppParts, version: Hashable, make: Callable[[], str]) -> Response:
    """Answer with a page that does not change while its data has this version.

    The answer is 304 if the browser has the page. Otherwise the page comes from the cache, or is made.

    Args:
        version: version of the data. The address, the colours and the browser's key are added here.
        make: function that makes the page, by ``html``.
    """
    return parts.answer_cache.respond(
        request,
        ("page", str(request.url), theme_of(request), form_token(request)),
        version,
        lambda: make().encode(),
        media_type="text/html",
        headers={"Vary": "Cookie"},
    )

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
from service.http.dependencies import Parts
from service.keys.browser import TOKEN, form_token, is_signed_in
from service.pages.formats import FILTERS
from service.pages.outcomes import diverged_at
from service.pages.static import FILES

THEMES: tuple[Theme, ...] = get_args(Theme)
KEY_HEADER = '-H "Authorization: Bearer $NORMBENCH_API_KEY"'
VERSION = version_of("normbench")


@cache
def templates() -> Environment:
    """Everything is escaped, and a value that was forgotten is an error."""
    environment = Environment(
        loader=PackageLoader("service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {**FILTERS, "diverged_at": diverged_at}
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
    """An address with its query; what is None is left out, and a list is given several times."""
    given = {name: content for name, content in query.items() if content is not None}
    encoded = urlencode(given, doseq=True)
    return f"{quote(path)}?{encoded}" if encoded else quote(path)


def own_path(back: str) -> str:
    """A path of this service, whatever a form names: ``//host`` and ``/\\host`` would lead elsewhere."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"


def theme_of(request: Request) -> Theme | None:
    """The colours that were chosen; None for those of the system."""
    chosen = request.cookies.get("theme")
    return next((theme for theme in THEMES if theme == chosen), None)


def here(request: Request) -> str:
    """The request's own address on this service, with its query."""
    url = request.url
    return f"{url.path}?{url.query}" if url.query else url.path


def curl_of(request: Request) -> Callable[..., str]:
    """Writes a call of this service as curl makes it, with a key where one is asked for."""
    origin = f"{request.url.scheme}://{request.url.netloc}"
    key = (KEY_HEADER,) if request.app.state.require_keys else ()

    def curl(path: str, *options: str) -> str:
        return " ".join(("curl -s", *key, f"'{origin}{path}'", *options))

    return curl


def html(request: Request, template: str, **values: Any) -> str:
    """A page. Templates also know the request's own address, ``here_url``, and write calls of the API by ``curl``."""
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
    """Answer with a page that may be another one the next time."""
    return HTMLResponse(html(request, template, **values), status, headers={"Cache-Control": "no-cache"})


def kept(request: Request, parts: Parts, version: Hashable, make: Callable[[], str]) -> Response:
    """Answer with a page that stays as it is while its data has this version: with 304 to whoever has it, else as it
    was made before, if it was.

    Args:
        version: of the data; the address, the colours and the key that is kept are added here.
        make: the page, by ``html``.
    """
    return parts.kept.respond(
        request,
        ("page", str(request.url), theme_of(request), form_token(request)),
        version,
        lambda: make().encode(),
        media_type="text/html",
        headers={"Vary": "Cookie"},
    )

"""Routes that refuse unknown query parameters, and parameters that are given twice."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, get_origin
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import Route as PlainRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from normcore.spec import SpecError
from normcore.spec.messages import explain_unknown, quote_value, suggestion
from service.errors import Invalid, NotFound


class Route(APIRoute):
    """A route that refuses unknown query parameters, and several values for a parameter that takes one."""

    @cached_property
    def _parameters(self) -> dict[str, bool]:
        return dict(_query_parameters(self.dependant))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or ()):
            _check_query(scope, self._parameters)
        await super().handle(scope, receive, send)


class Router(APIRouter):
    """Routes of one room of the service, all of class ``Route``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=Route, **options)


def refuse_parameters(app: FastAPI) -> None:
    """Make the framework's own pages refuse query parameters, as ``Route`` does; these pages take no parameters."""
    for route in app.routes:
        if isinstance(route, PlainRoute) and not isinstance(route, Route):
            route.app = _without_parameters(route.app)


def check_known(parameter: str, given: str | None, known: Iterable[str]) -> None:
    """Check that the value of a parameter is a known name.

    Raises:
        Invalid: the name is unknown; the message suggests a similar name, or says that the name is not loaded.
    """
    known = known if isinstance(known, Mapping) else list(known)
    if given is not None and given not in known:
        message = f"unknown {quote_value(given)}; {explain_unknown(given, known)}"
        raise Invalid([SpecError((parameter,), message, f"unknown_{parameter}")])


def check_found(what: str, name: str, known: Iterable[str]) -> None:
    """Check that a name in the address is a known name.

    Raises:
        NotFound: the name is unknown; the message suggests a similar name, or says that the name is not loaded.
    """
    known = known if isinstance(known, Mapping) else list(known)
    if name not in known:
        raise NotFound(f"no {what} {quote_value(name)}; {explain_unknown(name, known)}")


def _without_parameters(app: ASGIApp) -> ASGIApp:
    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        _check_query(scope, {})
        await app(scope, receive, send)

    return handle


def _query_parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Yield the names of a route's query parameters, and whether each may have several values."""
    for parameter in dependant.query_params:
        yield parameter.alias, get_origin(parameter.field_info.annotation) is list
    for inner in dependant.dependencies:
        yield from _query_parameters(inner)


def _check_query(scope: Scope, known: Mapping[str, bool]) -> None:
    """Check the names of the query parameters in a request.

    Args:
        known: for each parameter's name, whether it may have several values.

    Raises:
        Invalid: a parameter is unknown, or is given several times and takes one value.
    """
    if not scope["query_string"]:
        return
    given = Counter(name for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    errors = [_unknown_parameter(name, known) for name in given if name not in known]
    errors += [_doubled_parameter(name) for name, times in given.items() if times > 1 and known.get(name) is False]
    if errors:
        raise Invalid(errors)


def _unknown_parameter(name: str, known: Iterable[str]) -> SpecError:
    choice = f"choose from {', '.join(known)}" if known else "this address takes no parameters"
    return SpecError((name,), f"unknown parameter; {suggestion(name, known)}{choice}", "unknown_parameter")


def _doubled_parameter(name: str) -> SpecError:
    return SpecError((name,), "a parameter with one value is given several times; keep one", "doubled_parameter")

"""Routes that know their parameters: what a client misspells is refused, not ignored."""

import difflib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from normcore.spec import SpecError
from service.errors import Invalid


class Route(APIRoute):
    """A route that refuses query parameters it does not have."""

    @cached_property
    def _parameters(self) -> list[str]:
        return list(_query_parameters(self.dependant))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["query_string"] and scope["method"] in (self.methods or ()):
            given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            unknown = [name for name in given if name not in self._parameters]
            if unknown:
                raise Invalid([_unknown_parameter(name, self._parameters) for name in unknown])
        await super().handle(scope, receive, send)


class Router(APIRouter):
    """A room's routes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=Route, **options)


def check_known(parameter: str, given: str | None, known: Iterable[str]) -> None:
    """Raises:
    Invalid: a name was given that is none of the known ones; the message says which is close.
    """
    known = sorted(known)
    if given is not None and given not in known:
        message = f"unknown '{given[:60]}'; {_suggestion(given, known)}choose from {', '.join(known)}"
        raise Invalid([SpecError((parameter,), message, f"unknown_{parameter}")])


def _query_parameters(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_parameters(inner)


def _unknown_parameter(name: str, known: list[str]) -> SpecError:
    choice = f"choose from {', '.join(known)}" if known else "there are none here"
    return SpecError((name,), f"unknown parameter; {_suggestion(name, known)}{choice}", "unknown_parameter")


def _suggestion(given: str, known: list[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1)
    return f"did you mean '{close[0]}'? " if close else ""

"""Every refusal is a problem (RFC 9457), whoever refused."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from normcore.spec import SpecError
from service.errors import Invalid, ServiceError, Unavailable
from service.http.methods import allowed_methods

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
TITLES = {404: "Not found", 405: "Method not allowed"}


class ProblemError(BaseModel):
    """One thing that is wrong with the input."""

    loc: list[str | int] = Field(description="The field's path in the specification, or the parameter's name.")
    msg: str = Field(description="What is wrong and how to mend it.")
    type: str = Field(description="A stable code of what is wrong.")


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = Field(None, description="Of invalid input (422): every field that is wrong.")


class ProblemResponse(JSONResponse):
    """A problem, escaped to ASCII so that whatever the client sent can be quoted."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def problem(error: ServiceError) -> ProblemResponse:
    return ProblemResponse(error.problem(), error.status, error.headers)


def translate_errors(app: FastAPI) -> None:
    """Have the application answer every error with a problem."""

    @app.exception_handler(ServiceError)
    def refused(request: Request, error: ServiceError) -> Response:
        return problem(error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(Invalid([_outer_error(e) for e in error.errors()]))

    @app.exception_handler(HTTPException)
    def not_routed(request: Request, error: HTTPException) -> Response:
        headers: Mapping[str, str] = error.headers or {}
        if error.status_code == 405:
            headers = {"Allow": ", ".join(allowed_methods(app, request.scope))}
            if request.method == "OPTIONS":
                return Response(status_code=204, headers=headers)
        title = TITLES.get(error.status_code, "Error")
        content = {"type": "about:blank", "title": title, "status": error.status_code, "detail": str(error.detail)}
        return ProblemResponse(content, error.status_code, dict(headers))

    @app.exception_handler(DBAPIError)
    @app.exception_handler(PoolTimeout)
    def database_away(request: Request, error: Exception) -> Response:
        log.error("database: %s", error)
        return problem(Unavailable("the database cannot do this now; nothing was stored; try again"))

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        content = {"type": "about:blank", "title": "Internal error", "status": 500, "detail": type(error).__name__}
        return ProblemResponse(content, 500)


def _outer_error(error: Any) -> SpecError:
    """A parameter's error, named as the client wrote it."""
    loc = tuple(error["loc"])
    return SpecError(loc[1:] if loc[:1] in (("query",), ("header",), ("path",)) else loc, error["msg"], error["type"])

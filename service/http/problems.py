"""Refusals as problem details (RFC 9457): every refusal is answered in this form, whichever layer refused."""

import json
import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from normcore.spec import SpecError
from normcore.spec.errors import first_errors
from normcore.spec.messages import message
from service.db import one_line
from service.errors import Defect, Invalid, NotAllowed, NotFound, ServiceError, Unavailable
from service.http.methods import allowed_methods

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CLIENT_LEFT = 499  # the client left before its request arrived in full; the metrics count this status


class ProblemError(BaseModel):
    """One thing that is wrong with the input."""

    loc: list[str | int] = Field(description="The field's path in the specification, or the parameter's name.")
    msg: str = Field(description="What is wrong, and how to repair it.")
    type: str = Field(description="A stable code of what is wrong.")


class ProblemDetails(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = Field(None, description="For invalid input (422): every field that is wrong.")


class ProblemResponse(JSONResponse):
    """Answer with a problem. It is escaped to ASCII, so that it can quote any text that the client sent."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def problem(error: ServiceError) -> ProblemResponse:
    return ProblemResponse(error.problem(), error.status, error.headers)


def translate_errors(app: FastAPI) -> None:
    """Make the application answer every error with a problem (RFC 9457)."""

    @app.exception_handler(ServiceError)
    def answer_refused(request: Request, error: ServiceError) -> Response:
        return problem(error)

    @app.exception_handler(RequestValidationError)
    def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(Invalid(first_errors(error.errors(), _outer_error)))

    @app.exception_handler(HTTPException)
    def answer_not_routed(request: Request, error: HTTPException) -> Response:
        if error.status_code == 405:
            refusal = NotAllowed(request.method, allowed_methods(app, request.scope))
            return (
                Response(status_code=204, headers=refusal.headers) if request.method == "OPTIONS" else problem(refusal)
            )
        if error.status_code == 404:
            return problem(NotFound(_explain_not_found(request.url.path)))
        title = HTTPStatus(error.status_code).phrase
        content = {"type": "about:blank", "title": title, "status": error.status_code, "detail": str(error.detail)}
        return ProblemResponse(content, error.status_code)

    @app.exception_handler(ClientDisconnect)
    def answer_disconnected(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_LEFT)

    @app.exception_handler(DBAPIError)
    @app.exception_handler(PoolTimeout)
    def answer_database_away(request: Request, error: SQLAlchemyError) -> Response:
        log.error("database: %s", one_line(error))
        return problem(
            Unavailable(
                "the database cannot do this now; try again (with an Idempotency-Key nothing is submitted twice)"
            )
        )

    @app.exception_handler(Exception)
    def answer_broken(request: Request, error: Exception) -> Response:
        return problem(Defect(type(error).__name__))


def _explain_not_found(path: str) -> str:
    repair = "leave out the slash at its end" if path.endswith("/") and path != "/" else "/docs shows what there is"
    return f"nothing is at this address; {repair}"


def _outer_error(error: Any) -> SpecError:
    """Error of a parameter, with the parameter's name as the client wrote it."""
    loc = tuple(error["loc"])
    name = loc[1:] if loc[:1] in (("query",), ("header",), ("path",)) else loc
    return SpecError(name, message(error), error["type"])

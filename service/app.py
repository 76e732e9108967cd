"""The HTTP application: rooms joined, errors translated, nothing decided."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from normcore.spec import AnalysisSpec, SpecError, TrainingSpec
from normcore.spec.tasks import TASKS
from service import health
from service.artifacts import Artifacts
from service.catalogue import routes as catalogue
from service.db import Database
from service.errors import Invalid, ServiceError, Unavailable
from service.experiments import routes as experiments
from service.fleet import routes as fleet
from service.http import Problem, ProblemResponse, RefuseNul, problem
from service.keys.guard import require_key
from service.leaderboards import routes as leaderboards
from service.queue import Doorbell, make_celery
from service.report_cards import routes as report_cards
from service.settings import Settings

log = logging.getLogger(__name__)

REFERENCE = "#/components/schemas/{model}"
TITLES = {404: "Not found", 405: "Method not allowed"}


def create_app(settings: Settings, *, require_keys: bool) -> FastAPI:
    """The application on a database that is already migrated.

    Args:
        require_keys: ask for an API key; so it must be wherever others than this machine can connect.
    """
    db = Database(settings.database_url, call_seconds=settings.database_call_seconds)
    celery = make_celery(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.doorbell = Doorbell(celery)
        yield
        app.state.doorbell.close()
        db.close()

    app = FastAPI(
        title="normbench",
        version=version("normbench"),
        summary="A benchmark service for normalization in recurrent networks.",
        lifespan=lifespan,
        responses={"4XX": {"model": Problem, "content": {"application/problem+json": {}}}},
    )
    app.state.settings, app.state.db, app.state.celery = settings, db, celery
    app.state.artifacts = Artifacts(settings.artifacts_url)
    app.add_middleware(RefuseNul)
    health.install_metrics(app, db, settings)
    guard = [Depends(require_key)] if require_keys else []
    for room in (experiments, leaderboards, report_cards, catalogue, fleet):
        app.include_router(room.router, dependencies=guard)
    app.include_router(health.router)
    app.include_router(health.guarded_router, dependencies=guard)
    _translate_errors(app)
    _describe_written_spec(app)
    return app


def _translate_errors(app: FastAPI) -> None:
    """Every refusal is a problem+json, whoever refused."""

    @app.exception_handler(ServiceError)
    def refused(request: Request, error: ServiceError) -> Response:
        response = problem(error)
        if error.status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(Invalid([_outer_error(e) for e in error.errors()]))

    @app.exception_handler(HTTPException)
    def not_routed(request: Request, error: HTTPException) -> Response:
        title = TITLES.get(error.status_code, "Error")
        content = {"type": "about:blank", "title": title, "status": error.status_code, "detail": str(error.detail)}
        return ProblemResponse(content, error.status_code, dict(error.headers or {}))

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
    """A query parameter's or header's error, named as the client wrote it."""
    loc: Sequence[str | int] = error["loc"]
    return SpecError(
        tuple(loc[1:]) if loc[:1] and loc[0] in ("query", "header", "path") else tuple(loc), error["msg"], error["type"]
    )


def _describe_written_spec(app: FastAPI) -> None:
    """Put the schema of a spec as users write it, everything but the task optional, into the OpenAPI document."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            written: dict[str, Any] = {}
            for kind in (TrainingSpec, AnalysisSpec):
                schema = kind.model_json_schema(ref_template=REFERENCE)
                parts = schema.pop("$defs")
                for part in [schema, *parts.values()]:
                    part.pop("required", None)
                    part["properties"] = {n: f if n == "task" else _untagged(f) for n, f in part["properties"].items()}
                written |= {**parts, kind.__name__: {**schema, "required": ["task"]}}
            for task in TASKS.values():
                needed = [name for name, field in task.model_fields.items() if field.is_required()]
                needed = [name for name, field in task.model_fields.items() if field.is_required()]
                written[task.__name__]["required"] = ["name", *needed]
            choice = [{"$ref": REFERENCE.format(model=kind.__name__)} for kind in (TrainingSpec, AnalysisSpec)]
            generate()["components"]["schemas"].update(written, WrittenSpec={"anyOf": choice})
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]


def _untagged(schema: Any) -> Any:
    """Whoever omits a tag may mean several kinds at once, so that a choice of one becomes a choice of any."""
    if isinstance(schema, list):
        return [_untagged(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        "anyOf" if key == "oneOf" else key: _untagged(inner) for key, inner in schema.items() if key != "discriminator"
    }

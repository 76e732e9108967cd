"""Is it alive, is it ready, and how is it doing."""

import time
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.db import Database
from service.errors import Unavailable
from service.experiments.tables import Run
from service.fleet import attendance
from service.http import DatabaseDep
from service.queue import broker_problem
from service.settings import Settings

router, guarded_router = APIRouter(tags=["health"]), APIRouter(tags=["health"])


@router.get("/healthz")
def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz")
def readyz(request: Request, db: DatabaseDep) -> dict[str, str]:
    """Database and broker answer, too."""
    try:
        with db.snapshot() as session:
            session.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        raise Unavailable(f"the database does not answer: {type(error).__name__}") from None
    problem = broker_problem(request.app.state.celery)
    if problem:
        raise Unavailable(f"the broker does not answer: {problem}")
    return {"status": "ready"}


@guarded_router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Prometheus metrics."""
    return Response(generate_latest(request.app.state.metrics), media_type=CONTENT_TYPE_LATEST)


class StoreCollector(Collector):
    """What the database knows, read when Prometheus asks."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db, self._settings = db, settings

    def collect(self) -> Iterable[GaugeMetricFamily]:
        runs = GaugeMetricFamily("normbench_runs", "Runs by state.", labels=["state"])
        workers = GaugeMetricFamily(
            "normbench_workers", "Live workers by device and whether they train.", labels=["device", "busy"]
        )
        with self._db.snapshot() as session:
            for state, count in session.execute(select(Run.state, func.count()).group_by(Run.state)):
                runs.add_metric([state], count)
            live = [
                (worker.device, str(run_id is not None).lower())
                for worker, run_id in attendance.live(session, self._settings.heartbeat_seconds)
            ]
        for labels in sorted(set(live)):
            workers.add_metric(labels, live.count(labels))
        return [runs, workers]


class RequestMetrics:
    """Counts and times requests by route."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._count = Counter("normbench_http_requests", "Requests.", ["method", "route", "status"], registry=registry)
        self._time = Histogram("normbench_http_seconds", "Time to answer.", ["method", "route"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._count.labels(scope["method"], route, status).inc()
            self._time.labels(scope["method"], route).observe(time.perf_counter() - began)


def install_metrics(app: FastAPI, db: Database, settings: Settings) -> None:
    """Give the application a registry of its own."""
    registry: Any = CollectorRegistry()
    registry.register(StoreCollector(db, settings))
    app.state.metrics = registry
    app.add_middleware(RequestMetrics, registry=registry)

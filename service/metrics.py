"""Metrics for Prometheus."""

import platform
import time
from collections.abc import Iterable
from importlib.metadata import version
from itertools import product
from typing import Any, get_args

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.db import Database
from service.experiments.queries import runs_by_state
from service.experiments.schemas import State
from service.experiments.turns import SERVED_TOGETHER
from service.http.openapi import Responses
from service.http.routing import Router
from service.settings import Settings
from service.workload import queries
from service.workload.backlog import backlogs

router = Router(tags=["health"])

EXPOSITION: Responses = {200: {"content": {"text/plain": {"example": 'normbench_runs{state="queued"} 3.0\n'}}}}


@router.get("/metrics", response_class=PlainTextResponse, responses=EXPOSITION)
def metrics(request: Request) -> Response:
    """Prometheus metrics."""
    return Response(generate_latest(request.app.state.metrics), media_type=CONTENT_TYPE_LATEST)


class StoreCollector(Collector):
    """Metrics from the database, read when Prometheus asks."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db, self._settings = db, settings

    def collect(self) -> Iterable[Metric]:
        with self._db.snapshot() as session:
            by_state = runs_by_state(session)
            live = queries.read_workers_with_runs(session, self._settings.heartbeat_seconds)
            waiting = backlogs(session, self._settings.heartbeat_seconds)
        runs = GaugeMetricFamily("normbench_runs", "Runs by state.", labels=["state"])
        for state in get_args(State):
            runs.add_metric([state], by_state.get(state, 0))
        workers = GaugeMetricFamily(
            "normbench_workers", "Live workers by kind of device and whether they train.", labels=["device", "busy"]
        )
        kinds = [(worker.device.partition(":")[0], str(run_id is not None).lower()) for worker, run_id in live]
        for kind in sorted({*product(SERVED_TOGETHER, ("false", "true")), *kinds}):
            workers.add_metric(kind, kinds.count(kind))
        oldest = GaugeMetricFamily(
            "normbench_queue_oldest_seconds",
            "Seconds since the oldest queued run was submitted; 0 if no run is queued.",
            labels=["device"],
        )
        for queue in waiting:
            oldest.add_metric([queue.device], queue.oldest_seconds or 0.0)
        build = {"version": version("normbench"), "python": platform.python_version()}
        return [
            runs,
            workers,
            oldest,
            InfoMetricFamily("normbench_build", "Versions of normbench and Python.", value=build),
        ]


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
            route = getattr(scope.get("route"), "path_format", "other")
            self._count.labels(scope["method"], route, status).inc()
            self._time.labels(scope["method"], route).observe(time.perf_counter() - began)


def install(app: FastAPI, db: Database, settings: Settings) -> None:
    """Count and time the application's requests, and give it a registry of metrics for Prometheus."""
    registry: Any = CollectorRegistry()
    registry.register(StoreCollector(db, settings))
    app.state.metrics = registry
    app.add_middleware(RequestMetrics, registry=registry)

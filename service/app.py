"""The HTTP application: it puts the rooms together and decides nothing itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.metadata import version

from fastapi import APIRouter, Depends, FastAPI
from starlette.routing import BaseRoute

from service import health, metrics
from service.artifacts import Artifacts
from service.catalogue import routes as catalogue
from service.citations import routes as citations
from service.comparisons import routes as comparisons
from service.db import Database
from service.experiments import routes as experiments
from service.experiments.validation import loaded_options
from service.group_commit import GroupCommit
from service.http import openapi
from service.http.answer_cache import AnswerCache
from service.http.compression import CompressGet
from service.http.conditional import Revalidate
from service.http.heads import BoundHeads
from service.http.methods import AnswerHead
from service.http.origin_check import OriginCheck
from service.http.problems import translate_errors
from service.http.routing import refuse_parameters
from service.keys.guard import require_key
from service.leaderboards import routes as leaderboards
from service.leaderboards.submitted_results import routes as submitted_results
from service.pages import (
    boards,
    comparison_page,
    experiment,
    guide,
    methods,
    overview,
    public,
    run,
    sign_in,
    submit,
    tasks,
    workers,
)
from service.pages import experiments as experiment_list
from service.pages import sweeps as sweep_pages
from service.pages.preparation import prepare_in_background
from service.pages.refusals import ShowRefusals
from service.pages.security import ProtectBrowsers
from service.queue import Notifier, make_celery
from service.report_cards import routes as report_cards
from service.settings import Settings
from service.store_check import StoreCheck
from service.sweeps import routes as sweeps
from service.timed_calls import StoreThreads
from service.workload import routes as workload

PAGES = (
    overview,
    boards,
    comparison_page,
    experiment_list,
    experiment,
    run,
    methods,
    tasks,
    sweep_pages,
    submit,
    workers,
)
"""Pages that ask for an API key if the API asks for one."""


def create_app(settings: Settings, *, require_keys: bool) -> FastAPI:
    """Build the HTTP application, on a database that is already migrated.

    Args:
        require_keys: ask for an API key. This must be true wherever other machines can connect.
    """
    loaded_options()
    db = Database(settings.database_url, call_seconds=settings.database_call_seconds)
    celery = make_celery(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.notifier = Notifier(celery)
        prepare_in_background()
        yield
        app.state.notifier.close()
        db.close()

    app = FastAPI(
        docs_url=None,  # service.pages has one that works without internet
        redoc_url=None,
        redirect_slashes=False,  # only one form of an address works
        title="normbench",
        version=version("normbench"),
        summary="A benchmark service for normalization in recurrent networks.",
        description=openapi.DESCRIPTION,
        lifespan=lifespan,
        routes=_routes(require_keys),
    )
    app.state.settings, app.state.db, app.state.celery = settings, db, celery
    app.state.group_commit = GroupCommit(db)
    app.state.artifacts = Artifacts(settings.artifacts_url, call_seconds=None)
    app.state.store_threads = StoreThreads()
    app.state.store_check = StoreCheck(app.state.artifacts)
    app.state.answer_cache = AnswerCache()
    app.state.require_keys = require_keys
    for inner_first in (Revalidate, CompressGet, AnswerHead, BoundHeads):
        app.add_middleware(inner_first)
    app.add_middleware(OriginCheck, allowed_hosts=settings.hosts, require_keys=require_keys)
    app.add_middleware(ShowRefusals)
    app.add_middleware(ProtectBrowsers)
    metrics.install(app, db, settings)
    refuse_parameters(app)
    translate_errors(app)
    openapi.complete(app)
    return app


@cache
def _routes(require_keys: bool) -> list[BaseRoute]:
    """Collect the routes of all rooms. Applications share them: at the first request FastAPI works out what each route
    takes and gives, which takes 0.1 s, and tests make hundreds of applications."""
    router = APIRouter()
    guard = [Depends(require_key)] if require_keys else []
    rooms = (
        experiments,
        sweeps,
        leaderboards,
        submitted_results,
        comparisons,
        report_cards,
        catalogue,
        citations,
        workload,
        metrics,
    )
    for room in rooms:
        router.include_router(room.router, dependencies=guard)
    router.include_router(comparisons.of_boards, dependencies=guard)
    for page in PAGES:
        router.include_router(page.router, dependencies=guard)
    for for_everybody in (health, public, guide, sign_in):
        router.include_router(for_everybody.router)
    return router.routes

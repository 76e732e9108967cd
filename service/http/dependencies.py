"""Dependencies of routes: the parts of the application that ``create_app`` has put together.

Dependencies are ``async def``, because FastAPI runs plain functions in a thread pool. Each costs time, so a route that
needs more than the database takes ``AppPartsDep``.
"""

from typing import Annotated, Protocol

from fastapi import Depends, Request

from service.artifacts import Artifacts
from service.db import Database
from service.group_commit import GroupCommit
from service.http.answer_cache import AnswerCache
from service.queue import Notifier
from service.settings import Settings
from service.store_check import StoreCheck
from service.timed_calls import StoreThreads


class AppParts(Protocol):
    """Parts that ``create_app`` keeps in the application's state."""

    settings: Settings
    db: Database
    group_commit: GroupCommit
    artifacts: Artifacts
    notifier: Notifier
    store_check: StoreCheck
    store_threads: StoreThreads
    answer_cache: AnswerCache
    require_keys: bool


async def app_parts(request: Request) -> AppParts:
    state: AppParts = request.app.state
    return state


async def database(request: Request) -> Database:
    db: Database = request.app.state.db
    return db


AppPartsDep = Annotated[AppParts, Depends(app_parts)]
DatabaseDep = Annotated[Database, Depends(database)]

"""Is it alive, and can it work."""

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillWaiting
from typing import Literal

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from service.artifacts import Artifacts
from service.errors import Unavailable
from service.http.openapi import answers
from service.http.parts import PartsDep
from service.http.routing import Router
from service.queue import broker_problem

router = Router(tags=["health"])

STORE_SECONDS = 3.0  # for the artifact store to take a few bytes


class Alive(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Everything that it needs answers, too."""

    status: Literal["ready"] = "ready"


class StoreCheck:
    """Asks the artifact store to take a few bytes. A store that hangs holds one thread, however often it is asked."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._lock = threading.Lock()
        self._asked: Future[None] | None = None

    def problem(self) -> str | None:
        """What is wrong with the store, known within ``STORE_SECONDS``; None if it takes files."""
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                threading.Thread(target=self._ask, args=(self._asked,), name="store check", daemon=True).start()
            asked = self._asked
        try:
            asked.result(STORE_SECONDS)
        except StillWaiting:
            return f"it does not answer within {STORE_SECONDS:g} s"
        except Exception as error:  # every file system has errors of its own
            return getattr(error, "strerror", None) or type(error).__name__
        return None

    def _ask(self, asked: Future[None]) -> None:
        try:
            self._artifacts.check_writable()
            asked.set_result(None)
        except Exception as error:
            asked.set_exception(error)


@router.get("/healthz", responses=answers(Alive()))
async def healthz() -> Alive:
    """The process answers, though every thread may wait for the database."""
    return Alive()


@router.get("/readyz", responses=answers(Ready()))
def readyz(request: Request, parts: PartsDep) -> Ready:
    """Database, broker and artifact store answer, too."""
    try:
        with parts.db.snapshot() as session:
            session.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        raise Unavailable(f"the database does not answer: {type(error).__name__}") from None
    problem = broker_problem(request.app.state.celery)
    if problem:
        raise Unavailable(f"the broker does not answer: {problem}")
    problem = parts.store_check.problem()
    if problem:
        raise Unavailable(f"the artifact store takes no files: {problem}")
    return Ready()

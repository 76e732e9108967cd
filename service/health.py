"""Health checks: whether the process is alive, and whether everything that it needs answers."""

import logging
from typing import Literal

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from service.errors import Unavailable
from service.http.dependencies import AppPartsDep
from service.http.openapi import answers
from service.http.routing import Router
from service.queue import broker_problem

log = logging.getLogger(__name__)

router = Router(tags=["health"])


class Alive(BaseModel):
    """Answer of a process that is alive."""

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """Answer of a process that is ready: everything that it needs answers."""

    status: Literal["ready"] = "ready"


@router.get("/healthz", responses=answers(Alive()))
async def healthz() -> Alive:
    """Check that the process answers. It does even if every thread waits for the database."""
    return Alive()


@router.get("/readyz", responses=answers(Ready()))
def readyz(request: Request, parts: AppPartsDep) -> Ready:
    """Check that the database, the broker and the artifact store answer."""
    try:
        with parts.db.snapshot() as session:
            session.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        raise Unavailable(f"the database does not answer: {type(error).__name__}") from None
    problem = broker_problem(request.app.state.celery)
    if problem:
        log.warning("the broker does not answer: %s", problem)  # names the address, which clients must not see
        raise Unavailable("the broker does not answer; the log of the API says why")
    problem = parts.store_check.problem()
    if problem:
        raise Unavailable(f"the artifact store takes no files: {problem}")
    return Ready()

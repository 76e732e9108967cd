"""Live workers over HTTP."""

from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import BaseModel

from service.fleet import attendance
from service.http import PartsDep

router = APIRouter(prefix="/v1/workers", tags=["workers"])


class WorkerOut(BaseModel):
    """A live worker and the run it is training."""

    id: str
    host: str
    pid: int
    device: str
    queues: list[str]
    run_id: str | None
    started_at: datetime
    heartbeat_at: datetime


class WorkerList(BaseModel):
    """All live workers, in one page."""

    items: list[WorkerOut]
    next_cursor: None = None


@router.get("")
def list_workers(parts: PartsDep) -> WorkerList:
    """Workers whose heartbeat was heard lately."""
    with parts.db.snapshot() as session:
        present = attendance.live(session, parts.settings.heartbeat_seconds)
    return WorkerList(
        items=[
            WorkerOut(
                id=w.id,
                host=w.host,
                pid=w.pid,
                device=w.device,
                queues=w.queues.split(","),
                run_id=run_id,
                started_at=w.started_at,
                heartbeat_at=datetime.fromtimestamp(w.heartbeat_at, UTC),
            )
            for w, run_id in present
        ]
    )

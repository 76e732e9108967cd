"""Live workers and what waits for them, over HTTP."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, Field

from service.experiments.examples import CREATED, RUN_ID
from service.fleet import backlog, registration
from service.http.openapi import answers
from service.http.parts import PartsDep
from service.http.routing import Router

router = Router(prefix="/v1", tags=["workers"])


class WorkerOut(BaseModel):
    """A live worker and the run it is training."""

    id: str
    host: str
    pid: int
    device: str
    queues: list[str] = Field(description="The devices that runs may have asked for.")
    run_id: str | None = Field(description="The run it is training.")
    started_at: datetime
    heartbeat_at: datetime


class WorkerList(BaseModel):
    """All live workers, in one page."""

    items: list[WorkerOut]
    next_cursor: None = None


class QueueOut(BaseModel):
    """What waits for a device that runs may ask for."""

    device: str
    queued: int
    running: int
    oldest_seconds: float | None = Field(description="Since the oldest queued run was submitted; null if none is.")
    workers: int = Field(description="Live workers that take its runs.")
    expected_wait_seconds: float | None = Field(
        description="Of a run submitted now; null while no worker takes it, or no run has ended yet."
    )


class QueueList(BaseModel):
    """The queue of each device, in one page."""

    items: list[QueueOut]
    next_cursor: None = None


QUEUE = QueueOut(device="cpu", queued=3, running=1, oldest_seconds=4.2, workers=1, expected_wait_seconds=32.6)
WORKER = WorkerOut(
    id="wrk_01KAJ3TZX4G6P8D1K3N5B7F9HJ",
    host="node-1",
    pid=4711,
    device="cpu",
    queues=["auto", "cpu"],
    run_id=RUN_ID,
    started_at=CREATED - timedelta(minutes=5),
    heartbeat_at=CREATED + timedelta(seconds=4),
)


@router.get("/queue", responses=answers(QueueList(items=[QUEUE])))
def get_queue(parts: PartsDep) -> QueueList:
    """What waits for each device, and how long a run would wait."""
    with parts.db.snapshot() as session:
        backlogs = backlog.backlogs(session, parts.settings.heartbeat_seconds)
    return QueueList(items=[QueueOut(**asdict(found)) for found in backlogs])


@router.get("/workers", responses=answers(WorkerList(items=[WORKER])))
def list_workers(parts: PartsDep) -> WorkerList:
    """Workers whose heartbeat was heard lately."""
    with parts.db.snapshot() as session:
        present = registration.live(session, parts.settings.heartbeat_seconds)
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

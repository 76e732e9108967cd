"""Queues and live workers over HTTP."""

from dataclasses import asdict
from datetime import UTC, datetime

from service.http.dependencies import AppPartsDep
from service.http.openapi import answers
from service.http.routing import Router
from service.workload import backlog, examples, queries
from service.workload.schemas import QueueList, QueueOut, WorkerList, WorkerOut

router = Router(prefix="/v1", tags=["workers"])


@router.get("/queue", responses=answers(examples.QUEUES))
def get_queue(parts: AppPartsDep) -> QueueList:
    """Queue of each device, and how long a new run would wait."""
    with parts.db.snapshot() as session:
        backlogs = backlog.backlogs(session, parts.settings.heartbeat_seconds)
    return QueueList(items=[QueueOut(**asdict(found)) for found in backlogs])


@router.get("/workers", responses=answers(examples.WORKERS))
def list_workers(parts: AppPartsDep) -> WorkerList:
    """Workers with a recent heartbeat."""
    with parts.db.snapshot() as session:
        present = queries.read_workers_with_runs(session, parts.settings.heartbeat_seconds)
    return WorkerList(
        items=[
            WorkerOut(
                id=w.id,
                host=w.host,
                pid=w.pid,
                device=w.device,
                queues=w.queues.split(","),
                fused=w.fused,
                run_id=run_id,
                started_at=w.started_at,
                heartbeat_at=datetime.fromtimestamp(w.heartbeat_at, UTC),
            )
            for w, run_id in present
        ]
    )

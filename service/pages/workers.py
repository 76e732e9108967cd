"""Page of workers and queues."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service import wording
from service.db import utc_now
from service.experiments import queries
from service.experiments.schemas import RunOut
from service.http.dependencies import AppPartsDep
from service.pages.experiment import Answer
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.workload import routes as workload
from service.workload.schemas import QueueOut, WorkerOut

FUSED = {True: "yes", False: "no", None: "being compiled"}

router = PageRouter()


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A live worker.

    Attributes:
        run: run that the worker trains; None if it trains no run now.
        task: task of this run.
        name: name of this run's experiment.
        up: seconds since the worker started.
        silent: seconds since the worker's last heartbeat.
    """

    worker: WorkerOut
    run: RunOut | None
    task: str | None
    name: str | None
    up: float
    silent: float

    @property
    def fused(self) -> str:
        """Text on the worker's fused kernels."""
        return FUSED[self.worker.fused]


@router.get("/workers")
def list_workers(request: Request, parts: AppPartsDep) -> Response:
    """Page of workers and queues: who works, and how long a run would wait."""
    queue = workload.get_queue(parts).items
    workers = workload.list_workers(parts).items
    with parts.db.snapshot() as session:
        rows = [_row(session, worker, utc_now()) for worker in workers]
    return page(request, "workers.html", answer=answer(rows, queue), rows=rows, queue=queue)


def _row(session: Session, worker: WorkerOut, now: datetime) -> WorkerRow:
    run = queries.run(session, worker.run_id) if worker.run_id else None
    experiment = queries.experiment(session, run.experiment_id) if run else None
    return WorkerRow(
        worker=worker,
        run=run,
        task=experiment.spec["task"]["name"] if experiment else None,
        name=experiment.name if experiment else None,
        up=(now - worker.started_at).total_seconds(),
        silent=max((now - worker.heartbeat_at).total_seconds(), 0.0),
    )


def answer(rows: Sequence[WorkerRow], queue: Sequence[QueueOut]) -> Answer:
    """Sentence on how many workers are alive, and how many runs wait."""
    waiting = sum(one.queued for one in queue)
    waits = f"{wording.count(waiting, 'run')} {'waits' if waiting == 1 else 'wait'}"
    if not rows:
        return Answer(f"No worker is alive; {waits if waiting else 'nothing waits'}.", "warn" if waiting else "")
    busy = sum(row.run is not None for row in rows)
    unserved = [one.device for one in queue if one.queued and not one.workers]
    told = [f"no worker takes runs for {wording.listed(unserved)}"] if unserved else []
    alive = f"{wording.count(len(rows), 'worker')} alive, {busy} of them training"
    return Answer(f"{alive}; {waits if waiting else 'nothing waits'}.", "warn" if unserved else "", told)

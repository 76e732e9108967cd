"""Who works, and how long would a run wait?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.db import utc_now
from service.experiments import queries
from service.experiments.schemas import RunOut
from service.fleet.tables import Worker
from service.http.parts import PartsDep
from service.pages import formats
from service.pages.experiment import Answer
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.workload.backlog import Backlog, backlogs
from service.workload.queries import live

router = PageRouter()


@dataclass(frozen=True, slots=True)
class Row:
    """A live worker.

    Attributes:
        fused: whether it has fused kernels, in words.
        task, method: of the run that it trains.
        up, silent: seconds since it started, and since its last heartbeat.
    """

    host: str
    pid: int
    device: str
    fused: str
    run: RunOut | None
    task: str | None
    method: str | None
    up: float
    silent: float


@router.get("/workers")
def list_workers(request: Request, parts: PartsDep) -> Response:
    """Who works, and how long would a run wait?"""
    heartbeat = parts.settings.heartbeat_seconds
    with parts.db.snapshot() as session:
        queue = backlogs(session, heartbeat)
        rows = [_row(session, worker, run_id, utc_now()) for worker, run_id in live(session, heartbeat)]
    return page(request, "workers.html", answer=answer(rows, queue), rows=rows, queue=queue)


def _row(session: Session, worker: Worker, run_id: str | None, now: datetime) -> Row:
    run = queries.run(session, run_id) if run_id else None
    spec = queries.experiment(session, run.experiment_id).spec if run else None
    return Row(
        host=worker.host,
        pid=worker.pid,
        device=worker.device,
        fused={True: "yes", False: "no", None: "being compiled"}[worker.fused],
        run=run,
        task=spec["task"]["name"] if spec else None,
        method=(spec["norm"] or {}).get("method") if spec else None,
        up=(now - worker.started_at).total_seconds(),
        silent=max((now - datetime.fromtimestamp(worker.heartbeat_at, UTC)).total_seconds(), 0.0),
    )


def answer(rows: Sequence[Row], queue: Sequence[Backlog]) -> Answer:
    """Who works, in a sentence."""
    waiting = sum(one.queued for one in queue)
    waits = f"{formats.count(waiting, 'run')} {'waits' if waiting == 1 else 'wait'}"
    if not rows:
        return Answer(f"No worker is alive; {waits if waiting else 'nothing waits'}.", "warn" if waiting else "")
    busy = sum(row.run is not None for row in rows)
    unserved = [one.device for one in queue if one.queued and not one.workers]
    told = [f"no worker takes runs for {formats.listed(unserved)}"] if unserved else []
    alive = f"{formats.count(len(rows), 'worker')} alive, {busy} of them training"
    return Answer(f"{alive}; {waits if waiting else 'nothing waits'}.", "warn" if unserved else "", told)

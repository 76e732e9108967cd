"""Live workers, and the runs that they train."""

from collections import Counter

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from service.experiments.tables import Run
from service.fleet.registration import is_live
from service.fleet.tables import Worker
from service.queue import FUSED


def read_workers_with_runs(session: Session, heartbeat_seconds: float) -> list[tuple[Worker, str | None]]:
    """Workers with a recent heartbeat, oldest first, each with the id of the run that it trains, if any."""
    held = and_(Run.worker_id == Worker.id, Run.state == "running")
    query = select(Worker, func.max(Run.id)).outerjoin(Run, held).group_by(Worker.id).order_by(Worker.id)
    query = query.where(is_live(heartbeat_seconds))
    return [(worker, run_id) for worker, run_id in session.execute(query)]


def count_idle_workers(session: Session, heartbeat_seconds: float) -> dict[str, int]:
    """Count the live workers without a run, for each queue from which they take runs. Workers with fused kernels also
    count for the queue of runs that need such kernels.
    """
    workers = [worker for worker, run_id in read_workers_with_runs(session, heartbeat_seconds) if run_id is None]
    listening = [(*worker.queues.split(","), *([FUSED] if worker.fused else [])) for worker in workers]
    return Counter(queue for queues in listening for queue in queues)

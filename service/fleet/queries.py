"""Which workers are live, and what they train."""

from collections import Counter

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session

from service.db import epoch_now
from service.experiments.tables import Run
from service.fleet.registration import MISSED_HEARTBEATS
from service.fleet.tables import Worker


def live(session: Session, heartbeat_seconds: float) -> list[tuple[Worker, str | None]]:
    """Workers with a recent heartbeat, oldest first, each with the id of the run that it trains, if any."""
    lately = Worker.heartbeat_at >= epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds
    held = and_(Run.worker_id == Worker.id, Run.state == "running")
    query = select(Worker, func.max(Run.id)).outerjoin(Run, held).where(lately).group_by(Worker.id).order_by(Worker.id)
    return [(worker, run_id) for worker, run_id in session.execute(query)]


def idle(session: Session, heartbeat_seconds: float) -> dict[str, int]:
    """How many live workers without a run take runs from each queue."""
    listening = [w.queues.split(",") for w, run_id in live(session, heartbeat_seconds) if run_id is None]
    return Counter(queue for queues in listening for queue in queues)

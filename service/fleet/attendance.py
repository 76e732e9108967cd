"""Workers come, say that they live, and leave. What they train is said by the runs alone."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, exists, func, select, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
from service.experiments.tables import Run
from service.fleet.tables import Worker

MISSED_HEARTBEATS = 3  # after so many a worker counts as gone


@dataclass(frozen=True, slots=True)
class Badge:
    """Who a worker is. ``queues`` are the devices that runs may have asked for: ``auto``, ``cpu``, ``cuda``."""

    id: str
    host: str
    pid: int
    device: str
    queues: tuple[str, ...]


def beat(session: Session, badge: Badge) -> None:
    """The worker lives; its row is made anew if it was swept away meanwhile."""
    seen = session.execute(update(Worker).where(Worker.id == badge.id).values(heartbeat_at=epoch_now()))
    if seen.rowcount == 0:  # type: ignore[attr-defined]
        session.add(
            Worker(
                id=badge.id,
                host=badge.host,
                pid=badge.pid,
                device=badge.device,
                queues=",".join(badge.queues),
                started_at=utc_now(),
                heartbeat_at=epoch_now(),
            )
        )


def leave(session: Session, worker_id: str) -> bool:
    """The worker stops. Returns whether it was known."""
    gone = session.execute(delete(Worker).where(Worker.id == worker_id))
    return bool(gone.rowcount)  # type: ignore[attr-defined]


def sweep(session: Session, heartbeat_seconds: float) -> None:
    """Forget workers that have long been silent."""
    session.execute(delete(Worker).where(Worker.heartbeat_at < epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds))


def live(session: Session, heartbeat_seconds: float) -> list[tuple[Worker, str | None]]:
    """Workers heard of lately, oldest first, and the run that each trains, if it does."""
    lately = Worker.heartbeat_at >= epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds
    held = and_(Run.worker_id == Worker.id, Run.state == "running")
    query = select(Worker, func.max(Run.id)).outerjoin(Run, held).where(lately).group_by(Worker.id).order_by(Worker.id)
    return [(worker, run_id) for worker, run_id in session.execute(query)]


def lives(kind: str) -> ColumnElement[bool]:
    """Whether there is a worker on this kind of device, as a condition in a query."""
    return exists().where(Worker.device.startswith(kind))


def idle(session: Session, heartbeat_seconds: float) -> dict[str, int]:
    """How many live workers without a run listen to each queue."""
    listening = [w.queues.split(",") for w, run_id in live(session, heartbeat_seconds) if run_id is None]
    return Counter(queue for queues in listening for queue in queues)

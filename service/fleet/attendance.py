"""Workers come, say that they live, take up runs, and leave."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
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


def occupy(session: Session, worker_id: str, run_id: str | None) -> None:
    """The worker trains this run now, or none."""
    session.execute(update(Worker).where(Worker.id == worker_id).values(run_id=run_id))


def leave(session: Session, worker_id: str) -> None:
    """The worker stops."""
    session.execute(delete(Worker).where(Worker.id == worker_id))


def sweep(session: Session, heartbeat_seconds: float) -> None:
    """Forget workers that have long been silent."""
    session.execute(delete(Worker).where(Worker.heartbeat_at < epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds))


def live(session: Session, heartbeat_seconds: float) -> list[Worker]:
    """Workers heard of lately, oldest first."""
    lately = Worker.heartbeat_at >= epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds
    return list(session.scalars(select(Worker).where(lately).order_by(Worker.id)))


def idle(session: Session, heartbeat_seconds: float) -> dict[str, int]:
    """How many live workers without a run listen to each queue."""
    listening = [w.queues.split(",") for w in live(session, heartbeat_seconds) if w.run_id is None]
    return Counter(queue for queues in listening for queue in queues)

"""Register, heartbeat and remove workers. Which run a worker holds is stored on the run; see ``queries``."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, exists, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
from service.fleet.tables import Worker

MISSED_HEARTBEATS = 3  # after so many a worker counts as gone


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Which process a worker is, and on which device it trains.

    Attributes:
        queues: it takes runs that asked for one of these devices: ``auto``, ``cpu``, ``cuda``.
    """

    id: str
    host: str
    pid: int
    device: str
    queues: tuple[str, ...]


def register(session: Session, worker: WorkerIdentity) -> None:
    """Add a row for a worker that has none."""
    session.add(
        Worker(
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            device=worker.device,
            queues=",".join(worker.queues),
            started_at=utc_now(),
            heartbeat_at=epoch_now(),
        )
    )


def heartbeat(session: Session, worker: WorkerIdentity) -> None:
    """The worker is alive. It is registered if it is new, or was removed because it was silent."""
    seen = session.execute(update(Worker).where(Worker.id == worker.id).values(heartbeat_at=epoch_now()))
    if seen.rowcount == 0:  # type: ignore[attr-defined]
        register(session, worker)


def remove(session: Session, worker_id: str) -> bool:
    """The worker has stopped. Returns whether it was registered."""
    gone = session.execute(delete(Worker).where(Worker.id == worker_id))
    return bool(gone.rowcount)  # type: ignore[attr-defined]


def remove_silent(session: Session, heartbeat_seconds: float) -> None:
    """Remove workers that missed ``MISSED_HEARTBEATS``."""
    session.execute(delete(Worker).where(Worker.heartbeat_at < epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds))


def any_on(kind: str) -> ColumnElement[bool]:
    """Whether a worker is registered on this kind of device, as a condition in a query."""
    return exists().where(Worker.device.startswith(kind))

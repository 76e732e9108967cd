"""Register, heartbeat and remove workers. Which run a worker holds is stored on the run; see ``service.workload``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    bindparam,
    delete,
    null,
    select,
    update,
)
from sqlalchemy.orm import Session

from normcore.footprint import compute_needed_bytes
from service.db import epoch_now, utc_now
from service.fleet.tables import Worker
from service.queue import FUSED

Code = Mapping[str, Mapping[str, str | None]]  # digests by part of a spec and tag
MISSED_HEARTBEATS = 3  # after this many a worker counts as gone


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Identity of a worker process, and the device on which it trains.

    Attributes:
        queues: the worker takes runs that asked for one of these devices: ``auto``, ``cpu``, ``cuda``.
        fused: whether the worker has fused kernels; None while this is not known, because it may have to compile them.
        code: digests of the code that a spec can name, see ``normcore.own_code.digests``; None until they are known.
        code_at: when the digests were made, in seconds since 1970.
        memory: bytes that a training may take; None if that is not known.
    """

    id: str
    host: str
    pid: int
    device: str
    queues: tuple[str, ...]
    fused: bool | None = None
    code: Code | None = None
    code_at: float | None = None
    memory: int | None = None

    @property
    def notified_in(self) -> tuple[str, ...]:
        """Queues of the messages that the worker listens to."""
        return (*self.queues, FUSED) if self.fused else self.queues


def register(session: Session, worker: WorkerIdentity) -> None:
    """Add a row for a worker that has no row."""
    session.add(
        Worker(
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            device=worker.device,
            queues=",".join(worker.queues),
            fused=null() if worker.fused is None else worker.fused,  # None would give the default, for older workers
            code=worker.code,
            code_at=worker.code_at,
            memory_bytes=worker.memory,
            started_at=utc_now(),
            heartbeat_at=epoch_now(),
        )
    )


def heartbeat(session: Session, worker: WorkerIdentity) -> None:
    """Store that the worker is alive. The worker is registered if it is new, or was removed because it was silent."""
    now = {
        "heartbeat_at": epoch_now(),
        "fused": worker.fused,
        "code": worker.code,
        "code_at": worker.code_at,
        "memory_bytes": worker.memory,
    }
    seen = session.execute(update(Worker).where(Worker.id == worker.id).values(now))
    if seen.rowcount == 0:  # type: ignore[attr-defined]
        register(session, worker)


def remove(session: Session, worker_id: str) -> bool:
    """Remove a worker that has stopped. Return whether it was registered."""
    gone = session.execute(delete(Worker).where(Worker.id == worker_id))
    return bool(gone.rowcount)  # type: ignore[attr-defined]


def remove_silent(session: Session, heartbeat_seconds: float) -> None:
    """Remove workers that missed ``MISSED_HEARTBEATS`` heartbeats."""
    session.execute(delete(Worker).where(Worker.heartbeat_at < epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds))


def is_live(heartbeat_seconds: float) -> ColumnElement[bool]:
    """Condition of a query: the worker's last heartbeat is recent."""
    return Worker.heartbeat_at >= epoch_now() - MISSED_HEARTBEATS * heartbeat_seconds


class RegisteredWorker(NamedTuple):
    """A registered worker without the digests of its code, which are long and seldom needed.

    Attributes:
        queues: the devices of the runs that the worker takes, separated by commas.
        fused: whether the worker has fused kernels; None if it does not know yet.
        memory_bytes: bytes that the worker gives a training; None if that is not known.
    """

    id: str
    device: str
    queues: str
    fused: bool | None
    memory_bytes: int | None

    @property
    def kind(self) -> str:
        """Kind of the worker's device: ``cpu`` or ``cuda``."""
        return self.device.partition(":")[0]

    @property
    def most_tensors(self) -> int | None:
        """Most bytes of tensors that fit into what the worker gives a training; None if that is not known."""
        return None if self.memory_bytes is None else self.memory_bytes - compute_needed_bytes(self.kind, 0)

    def takes(self, queue: str) -> bool:
        """Tell if the worker takes runs that asked for this device."""
        return queue in self.queues.split(",")


# Each submission asks the second query, and building a query takes longer than executing it.
_REGISTERED = select(Worker.id, Worker.device, Worker.queues, Worker.fused, Worker.memory_bytes)
_LIVE = _REGISTERED.where(Worker.heartbeat_at >= epoch_now() - bindparam("silence")).order_by(Worker.id)


def list_registered(session: Session) -> list[RegisteredWorker]:
    """List all registered workers. Some may have fallen silent a moment ago."""
    return [RegisteredWorker(*row) for row in session.connection().execute(_REGISTERED)]


def list_live(session: Session, queue: str, heartbeat_seconds: float) -> list[RegisteredWorker]:
    """List the live workers that take runs from this queue."""
    found = session.connection().execute(_LIVE, {"silence": MISSED_HEARTBEATS * heartbeat_seconds})
    return [worker for row in found if (worker := RegisteredWorker(*row)).takes(queue)]


def list_live_with_code(session: Session, queue: str, heartbeat_seconds: float) -> list[Worker]:
    """List the live workers that take runs from this queue, with the digests of their code."""
    found = session.scalars(select(Worker).where(is_live(heartbeat_seconds)).order_by(Worker.id))
    return [worker for worker in found if queue in worker.queues.split(",")]


def processes_on(session: Session, host: str) -> list[int]:
    """Process ids of the workers that are registered on a machine."""
    return list(session.scalars(select(Worker.pid).where(Worker.host == host)))

"""Memory of a training beside the memory of the workers. A training that fits nowhere is refused; one that fits a
larger worker alone is left to it.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from normcore.footprint import Footprint, excess, footprint, needed_on
from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from service import wording
from service.errors import Invalid
from service.experiments.tables import Run
from service.experiments.turns import Line
from service.fleet import registration

NO_MACHINE_HAS = 16 << 40  # bytes; the bound while no worker says how much it has


class Room(NamedTuple):
    """The kind of a worker's device, and the bytes that it gives a training; None if that is not known."""

    kind: str
    memory: int | None


Rooms = dict[str, list[Room]]
"""Those of the live workers by the device that a spec asks for."""


def needed_by(spec: ExperimentSpec) -> int | None:
    """Bytes that the tensors of a run need at least; None if that is not known."""
    needed = footprint(spec)
    return None if needed is None else needed.tensors


def check(session: Session, spec: ExperimentSpec, heartbeat_seconds: float, known: Rooms | None = None) -> None:
    """Refuse what needs more memory than there is.

    Args:
        known: what was read for other specs; it is added to.

    Raises:
        Invalid: a run needs more than every live worker gives it; the field that matters most is named.
    """
    needed = footprint(spec)
    if needed is None or not isinstance(spec, TrainingSpec):
        return
    known = {} if known is None else known
    if spec.device not in known:
        known[spec.device] = _rooms(session, spec.device, heartbeat_seconds)
    room = _roomiest(known[spec.device], spec, needed)
    if needed.on(room.kind) > (NO_MACHINE_HAS if room.memory is None else room.memory):
        raise Invalid([_refusal(spec, needed, room)])


def beside(
    session: Session, spec: ExperimentSpec, needed: Footprint | None, heartbeat_seconds: float
) -> tuple[int | None, int | None]:
    """Bytes that a run needs at least of the memory of the live worker that has most room for it, and bytes that this
    worker gives it. None for what is not known."""
    room = _roomiest(_rooms(session, spec.device, heartbeat_seconds), spec, needed)
    return None if needed is None else needed.on(room.kind), room.memory


def _rooms(session: Session, queue: str, heartbeat_seconds: float) -> list[Room]:
    live = registration.live(session, queue, heartbeat_seconds)
    return [Room(worker.kind, worker.memory_bytes) for worker in live]


def _roomiest(rooms: list[Room], spec: ExperimentSpec, needed: Footprint | None) -> Room:
    """The room in which most is left beside a run. One whose size is not known counts as the largest; if there is no
    worker, it is of the device that the spec asks for."""

    def left(room: Room) -> float:
        return math.inf if room.memory is None else room.memory - (needed.on(room.kind) if needed else 0)

    return max(rooms, key=left, default=Room("cuda" if spec.device == "cuda" else "cpu", None))


def _refusal(spec: TrainingSpec, needed: Footprint, room: Room) -> SpecError:
    bound = NO_MACHINE_HAS if room.memory is None else room.memory
    blamed = excess(spec, bound, room.kind)
    whose = (
        "no worker is alive to say what it has, and the bound is"
        if room.memory is None
        else "the largest live worker gives it"
    )
    repair = "use less" if blamed.most is None else f"use {blamed.most:,} or less"
    needs = wording.size(needed.on(room.kind))
    wrong = f"a run needs at least {needs} of memory, and {whose} {wording.size(bound)}; {repair}"
    return SpecError(blamed.field, wrong, "memory")


def fitting(session: Session, worker_id: str, lines: Iterable[Line]) -> dict[Line, ColumnElement[bool] | None]:
    """Condition for each line that a worker may take a run: it gives the run enough memory, or no other worker of
    this line gives it more. None if it may take all.
    """
    workers = registration.registered(session)
    own = next((worker for worker in workers if worker.id == worker_id), None)
    others = [worker for worker in workers if worker.id != worker_id]
    return {line: None if own is None else _fitting(own, others, line) for line in lines}


class Worker(Protocol):
    """A registered worker: its device, and the memory that it gives a training, in bytes."""

    @property
    def kind(self) -> str: ...

    @property
    def memory_bytes(self) -> int | None: ...

    @property
    def fused(self) -> bool | None: ...

    def takes(self, queue: str) -> bool: ...


def _fitting(own: Worker, others: Iterable[Worker], line: Line) -> ColumnElement[bool] | None:
    if own.memory_bytes is None:
        return None
    taking = [worker for worker in others if worker.takes(line.queue) and (worker.fused or not line.needs_fused)]
    most = max((_most_tensors(worker) for worker in taking), default=0)
    if most <= _most_tensors(own):
        return None
    fits = or_(Run.memory_bytes.is_(None), Run.memory_bytes <= _most_tensors(own))
    return fits if most == math.inf else or_(fits, Run.memory_bytes > most)


def _most_tensors(worker: Worker) -> float:
    """The most bytes of tensors that fit a worker."""
    return math.inf if worker.memory_bytes is None else worker.memory_bytes - needed_on(worker.kind, 0)

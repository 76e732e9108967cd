"""Memory of a run, compared with the memory of the workers. A run that fits no worker is refused. A run that fits only
larger workers is left to them.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from normcore.footprint import Footprint, excess
from normcore.spec import ExperimentSpec, SpecError
from service import wording
from service.errors import Invalid
from service.experiments import fused_kernels
from service.experiments.turns import QueuePart, build_fit_condition, find_most
from service.fleet import registration

NO_MACHINE_HAS = 16 << 40  # bytes; the limit while no worker says how much memory it has
_ROOMS = "normbench rooms"  # key in a session's own data


class Room(NamedTuple):
    """Kind of a worker's device, and the bytes that the worker gives a run. None if the bytes are not known."""

    kind: str
    memory: int | None


def tensors(needed: Footprint | None) -> int | None:
    """Least bytes that the tensors of a run need; None if they are not known."""
    return None if needed is None else needed.tensors


def check(session: Session, spec: ExperimentSpec, needed: Footprint | None, heartbeat_seconds: float) -> None:
    """Refuse a spec that needs more memory than any worker gives.

    Raises:
        Invalid: a run needs more memory than every live worker gives it; the error names the field that matters most.
    """
    if needed is None:
        return
    room = _roomiest(_rooms(session, spec, heartbeat_seconds), spec, needed)
    if needed.on(room.kind) > (NO_MACHINE_HAS if room.memory is None else room.memory):
        raise Invalid([_refusal(spec, needed, room)])


class MemoryFit(NamedTuple):
    """Memory of a run beside that of the live workers that may take the run.

    Attributes:
        needed: least bytes that the run needs on the worker with most room for it; None if they are not known.
        given: bytes that this worker gives the run; None if they are not known.
        n_workers: number of the workers.
        n_fitting: number of the workers that give the run enough, or do not say what they give.
    """

    needed: int | None
    given: int | None
    n_workers: int
    n_fitting: int


def beside(session: Session, spec: ExperimentSpec, needed: Footprint | None, heartbeat_seconds: float) -> MemoryFit:
    """Compare a run's memory with the live workers that may take the run."""
    rooms = _rooms(session, spec, heartbeat_seconds)
    room = _roomiest(rooms, spec, needed)
    fitting = [one for one in rooms if one.memory is None or needed is None or needed.on(one.kind) <= one.memory]
    return MemoryFit(None if needed is None else needed.on(room.kind), room.memory, len(rooms), len(fitting))


def _rooms(session: Session, spec: ExperimentSpec, heartbeat_seconds: float) -> list[Room]:
    """Rooms of the live workers that can take the runs of a spec. Each session reads them once, because it may check
    all cells of a sweep."""
    line = QueuePart(spec.device, fused_kernels.are_needed_by(spec))
    known: dict[QueuePart, list[Room]] = session.info.setdefault(_ROOMS, {})
    if line not in known:
        live = registration.list_live(session, line.queue, heartbeat_seconds)
        taking = [worker for worker in live if worker.fused is not False or not line.needs_fused]
        known[line] = [Room(worker.kind, worker.memory_bytes) for worker in taking]
    return known[line]


def _roomiest(rooms: list[Room], spec: ExperimentSpec, needed: Footprint | None) -> Room:
    """Room with the most memory left beside a run. A room of unknown size counts as the largest. If there is no worker,
    the room is of the device that the spec asks for.
    """

    def compute_left(room: Room) -> float:
        return math.inf if room.memory is None else room.memory - (needed.on(room.kind) if needed else 0)

    return max(rooms, key=compute_left, default=Room("cuda" if spec.device == "cuda" else "cpu", None))


def _refusal(spec: ExperimentSpec, needed: Footprint, room: Room) -> SpecError:
    bound = NO_MACHINE_HAS if room.memory is None else room.memory
    blamed = excess(spec, bound, room.kind)
    whose = (
        "no live worker says how much it has, so the limit is"
        if room.memory is None
        else "the largest live worker gives it"
    )
    repair = "use less" if blamed.most is None else f"use {blamed.most:,} or less"
    needs = wording.size(needed.on(room.kind))
    wrong = f"a run needs at least {needs} of memory, and {whose} {wording.size(bound)}; {repair}"
    return SpecError(blamed.field, wrong, "memory")


def build_fit_conditions(
    session: Session, worker_id: str, lines: Iterable[QueuePart]
) -> dict[QueuePart, ColumnElement[bool] | None]:
    """Condition for each line that a worker may take a run: this worker gives the run enough memory, or no worker of
    the line does. None if this worker does not say how much memory it gives, so that it may take all runs.
    """
    workers = registration.list_registered(session)
    own = next((worker.most_tensors for worker in workers if worker.id == worker_id), None)
    return {line: None if own is None else build_fit_condition(own, find_most(workers, line)) for line in lines}

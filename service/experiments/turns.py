"""In which order queued runs are claimed: by priority, and within one priority experiments take turns.

The queue is worked off in rounds, and each experiment has one run in each round. ``turn`` counts half rounds. The first
run of a new experiment is placed half a round after the run that is next at that moment, so it waits for at most one
run of every other experiment. Newcomers are never placed before the run that is next, so no run waits for ever. (Runs
for a kind of worker of which none is live do not count as next, nor do runs that need fused kernels while no worker has
any.)

A run that its worker gives back goes before all others, as it has had its turn. A run that waits for trouble to pass is
not in the queue; it comes back behind the other runs of its experiment, so that a thousand of them delay nobody else.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, false, func, or_, select, tuple_
from sqlalchemy.orm import Session

from service.experiments.tables import Run
from service.fleet import registration

SERVED_TOGETHER = {"cpu": ("auto", "cpu"), "cuda": ("auto", "cuda")}  # the queues of a worker, by its kind of device
ROUND = 2
AT_ONCE = -1  # the turn of a run that was given back
ORDER = (Run.priority.desc(), Run.turn, Run.id)
QUEUED = Run.state == "queued"
READY = (QUEUED, Run.cancel_requested == false(), Run.not_before.is_(None))


def takeable(fused: bool) -> tuple[ColumnElement[bool], ...]:
    """The conditions that a worker with or without fused kernels may take a run that is ready."""
    return READY if fused else (*READY, Run.needs_fused == false())


def first_ready(queue: str, *, fused: bool) -> Select[str]:
    """The id of the next run of a queue, locked. On PostgreSQL, runs that another worker is claiming are skipped.

    Args:
        fused: whether the worker has fused kernels.
    """
    ready = select(Run.id).where(Run.queue == queue, *takeable(fused))
    return ready.order_by(*ORDER).limit(1).with_for_update(skip_locked=True)


def by_urgency(session: Session, queues: Sequence[str], *, fused: bool) -> list[str]:
    """The queues in which a run is ready that a worker with or without fused kernels takes, ordered by these runs."""
    fronts = []
    for queue in queues:
        ready = select(Run.priority, Run.turn, Run.id).where(Run.queue == queue, *takeable(fused))
        front = session.execute(ready.order_by(*ORDER).limit(1)).one_or_none()
        if front is not None:
            fronts.append((-front.priority, front.turn, front.id, queue))
    return [queue for *_, queue in sorted(fronts)]


def next_turn(session: Session, queue: str, priority: int) -> int:
    """The turn of a new experiment's first run; each further one comes a ``ROUND`` later.

    The run that is next has the smallest turn of all ready runs. If two kinds of live worker serve the queue, the
    larger of their two smallest turns counts, because the workers of that kind have already passed the other.
    """
    names, kinds = _competing(queue), _serving(queue)
    found = session.connection().execute(_waiting(names, kinds), {"priority": priority}).one()
    turns = dict(zip(names, found[: len(names)], strict=True))
    live = [kind for kind, is_there in zip(kinds, found[len(names) :], strict=True) if is_there]
    fronts = [
        min(waiting)
        for kind in live or kinds
        if (waiting := [turn for name in SERVED_TOGETHER[kind] if (turn := turns[name]) is not None])
    ]
    return max(fronts) + ROUND // 2 if fronts else 0


def _serving(queue: str) -> tuple[str, ...]:
    """The kinds of worker that serve a queue."""
    return tuple(kind for kind, served in SERVED_TOGETHER.items() if queue in served)


def _competing(queue: str) -> tuple[str, ...]:
    """The queues that some worker serves together with this one."""
    return tuple(sorted({name for kind in _serving(queue) for name in SERVED_TOGETHER[kind]}))


@cache  # building the statement takes longer than executing it
def _waiting(names: tuple[str, ...], kinds: tuple[str, ...]) -> Select[Any]:
    """A query for the smallest turn in each of these queues at the bound ``priority``, and for whether a worker of each
    of these kinds is registered."""
    at_priority = Run.priority == bindparam("priority")
    is_served = or_(Run.needs_fused == false(), registration.any_fused())
    least = [
        select(Run.turn)
        .where(*READY, Run.queue == name, at_priority, Run.turn > AT_ONCE, is_served)
        .order_by(Run.turn)
        .limit(1)
        .scalar_subquery()
        for name in names
    ]
    return select(*least, *(registration.any_on(kind) for kind in kinds))


def turn_behind_its_own(session: Session, run: Run) -> int:
    """The turn of a run that comes into the queue behind all other runs of its experiment."""
    its_own = select(func.max(Run.turn)).where(*READY, Run.experiment_id == run.experiment_id)
    last = session.scalars(its_own).one()
    behind = AT_ONCE if last is None else last + ROUND
    return max(behind, next_turn(session, run.queue, run.priority))


def queue_position(session: Session, queue: str, priority: int) -> int:
    """Which place the first run of a new experiment would have; 1 is claimed next."""
    own = (-priority, next_turn(session, queue, priority))
    ahead = tuple_(-Run.priority, Run.turn) <= tuple_(*own)
    query = select(func.count()).select_from(Run).where(*READY, Run.queue.in_(_competing(queue)), ahead)
    return 1 + session.scalars(query).one()

"""In which order queued runs are claimed: the most urgent first, experiments of one priority in turns.

The queue goes in rounds, and a run's ``turn`` counts half rounds. An experiment's runs take part in one round each; the
first stands half a round behind the run that is next when it is submitted. So it waits for one run of every other
experiment at most, and as newcomers always stand behind whoever is next, nobody is overtaken for ever.

A run that its worker gives back has had its turn, and goes before all others. One that waits for trouble to pass stands
behind those of its own experiment, so that a thousand of them hold up nobody else; while others wait, its turn does not
say who is next.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, Select, bindparam, exists, false, func, or_, select, tuple_
from sqlalchemy.orm import Session

from service.db import epoch_now
from service.experiments.tables import Run
from service.fleet.tables import Worker

SERVED_TOGETHER = {"cpu": ("auto", "cpu"), "cuda": ("auto", "cuda")}  # the queues of a worker, by its kind of device
ROUND = 2
AT_ONCE = -1  # the turn of a run that has had its turn
ORDER = (Run.priority.desc(), Run.turn, Run.id)
QUEUED = Run.state == "queued"
READY = (QUEUED, Run.cancel_requested == false(), or_(Run.not_before.is_(None), Run.not_before <= epoch_now()))


def first_ready(queue: str) -> Select[str]:
    """The id of the next run of a queue, locked; on PostgreSQL runs that somebody else is claiming are passed over."""
    ready = select(Run.id).where(Run.queue == queue, *READY)
    return ready.order_by(*ORDER).limit(1).with_for_update(skip_locked=True)


def by_urgency(session: Session, queues: Sequence[str]) -> list[str]:
    """Those queues in which a run is ready, the one whose next run comes first in front."""
    fronts = []
    for queue in queues:
        ready = select(Run.priority, Run.turn, Run.id).where(Run.queue == queue, *READY).order_by(*ORDER).limit(1)
        front = session.execute(ready).one_or_none()
        if front is not None:
            fronts.append((-front.priority, front.turn, front.id, queue))
    return [queue for *_, queue in sorted(fronts)]


def next_turn(session: Session, queue: str, priority: int) -> int:
    """The turn of a new experiment's first run; each further one comes a ``ROUND`` later.

    What is next is the least turn that a run waits for. Where two kinds of live worker serve the queue, the one that is
    further counts: what is next for the other has been passed by there.
    """
    names, kinds = _competing(queue), _serving(queue)
    found = iter(session.connection().execute(_waiting(names, kinds), {"priority": priority}).one())
    ready = {name: next(found) for name in names}
    queued = {name: next(found) for name in names}
    live = [kind for kind in kinds if next(found)]
    fronts = [_front(kind, ready, queued) for kind in live or kinds]
    return max((front + ROUND // 2 for front in fronts if front is not None), default=0)


def _front(kind: str, *waiting: Mapping[str, int | None]) -> int | None:
    """The least turn for this kind of worker, by the first of the maps that has one."""
    for turns in waiting:
        least = [turn for name in SERVED_TOGETHER[kind] if (turn := turns[name]) is not None]
        if least:
            return min(least)
    return None


def _serving(queue: str) -> tuple[str, ...]:
    """The kinds of worker that serve a queue."""
    return tuple(kind for kind, served in SERVED_TOGETHER.items() if queue in served)


def _competing(queue: str) -> tuple[str, ...]:
    """The queues that some worker serves together with this one."""
    return tuple(sorted({name for kind in _serving(queue) for name in SERVED_TOGETHER[kind]}))


@cache  # to build the statement takes longer than to execute it
def _waiting(names: tuple[str, ...], kinds: tuple[str, ...]) -> Select[Any]:
    """At the ``priority`` that it is executed with: for each of these queues the least turn of the runs that are ready,
    then for each that of all, and for each of these kinds whether a worker lives.

    A run that waited for trouble to pass comes back with a turn of long ago, and counts among all only.
    """

    def least(name: str, *conditions: ColumnElement[bool]) -> ScalarSelect[Any]:
        those = (Run.queue == name, Run.priority == bindparam("priority"), Run.turn > AT_ONCE, *conditions)
        return select(Run.turn).where(*those).order_by(Run.turn).limit(1).scalar_subquery()

    return select(
        *(least(name, *READY, Run.times_deferred == 0) for name in names),
        *(least(name, QUEUED) for name in names),
        *(exists().where(Worker.device.startswith(kind)) for kind in kinds),
    )


def turn_behind_its_own(session: Session, run: Run) -> int:
    """The turn of a run that is queued anew as if it were its experiment's last."""
    its_own = select(func.max(Run.turn)).where(QUEUED, Run.experiment_id == run.experiment_id)
    last = session.scalars(its_own).one()
    behind = AT_ONCE if last is None else last + ROUND
    return max(behind, next_turn(session, run.queue, run.priority))


def queue_position(session: Session, queue: str, priority: int) -> int:
    """Which place the first run of a new experiment would have: 1 if it is the next to be claimed."""
    own = (-priority, next_turn(session, queue, priority))
    ahead = tuple_(-Run.priority, Run.turn) <= tuple_(*own)
    query = select(func.count()).select_from(Run).where(QUEUED, Run.queue.in_(_competing(queue)), ahead)
    return 1 + session.scalars(query).one()

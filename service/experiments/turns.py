"""Order in which queued runs are claimed: by priority, and within one priority experiments take turns.

The queue is worked off in rounds, and each experiment has one run in each round. ``turn`` counts half rounds. The first
run of a new experiment is placed half a round after the run that is next at that moment, so it waits for at most one
run of every other experiment. Newcomers are never placed before the run that is next, so no run waits for ever. The
experiments of a sweep take one turn together, so that no experiment waits behind a whole sweep.

Which run is next depends on the worker: workers differ in their kind of device, in their fused kernels and in their
memory, and each kind takes other runs. Runs that no live worker can take are ignored here.

A run that its worker gives back goes before all other runs, because it has had its turn. A deferred run is not in the
queue during its pause. It comes back behind the other runs of its experiment or sweep, so that a thousand deferred runs
delay no other experiment.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, false, func, or_, select, tuple_
from sqlalchemy.orm import Session

from service.experiments.tables import Experiment, Run, of_experiment, of_sweep
from service.fleet import registration

SERVED_TOGETHER = {"cpu": ("auto", "cpu"), "cuda": ("auto", "cuda")}  # the queues of a worker, by its kind of device
ROUND = 2
AT_ONCE = -1  # turn of a run that was given back
LOOKED_AT = 1000  # runs at the front of a line, among which the next run that fits every worker is looked for
ORDER = (Run.priority.desc(), Run.turn, Run.id)
QUEUED = Run.state == "queued"
READY = (QUEUED, Run.cancel_requested == false(), Run.not_before.is_(None))


class Line(NamedTuple):
    """Part of the queue: runs of one device that all need fused kernels, or all do not. A worker that can take a run of
    a line can take all its runs.
    """

    queue: str
    needs_fused: bool

    @property
    def ready(self) -> tuple[ColumnElement[bool], ...]:
        """Conditions for a run that is in this line and ready."""
        return (*READY, Run.queue == self.queue, Run.needs_fused == self.needs_fused)


class Kind(NamedTuple):
    """Kind of a worker: its kind of device, and whether it has fused kernels."""

    device: str
    fused: bool


def lines_of(queues: Iterable[str], *, fused: bool) -> tuple[Line, ...]:
    """Lines from which a worker takes runs. ``queues`` are the queues that the worker listens to; ``fused`` says
    whether it has fused kernels.
    """
    return tuple(Line(queue, needs_fused) for queue in queues for needs_fused in ((False, True) if fused else (False,)))


TAKEN_BY = {
    Kind(device, fused): lines_of(queues, fused=fused)
    for device, queues in SERVED_TOGETHER.items()
    for fused in (False, True)
}


def first_ready(line: Line, fits: ColumnElement[bool] | None = None) -> Select[str]:
    """Query for the id of the next run of a line, which locks this run. On PostgreSQL, runs that another worker is
    claiming are skipped.

    Args:
        fits: condition that the worker may take a run; None if it may take all runs.
    """
    return _front(line, fits).with_for_update(skip_locked=True)


def by_urgency(session: Session, lines: Mapping[Line, ColumnElement[bool] | None]) -> list[Line]:
    """Lines in which a run is ready, sorted by their next runs: the most urgent line first.

    Args:
        lines: for each line, the condition that the worker may take a run; None if it may take all runs.
    """
    fronts = [_front(line, fits).scalar_subquery() for line, fits in lines.items()]
    found = session.execute(select(Run.queue, Run.needs_fused).where(Run.id.in_(fronts)).order_by(*ORDER))
    return [Line(queue, needs_fused) for queue, needs_fused in found]


def _front(line: Line, fits: ColumnElement[bool] | None) -> Select[str]:
    ready = line.ready if fits is None else (*line.ready, fits)
    return select(Run.id).where(*ready).order_by(*ORDER).limit(1)


def next_turn(session: Session, line: Line, priority: int) -> int:
    """Turn of a new experiment's first run. Each further run of the experiment comes a ``ROUND`` later.

    The run that is next has the smallest turn of all ready runs. If several kinds of live worker take runs from the
    line, the largest of their smallest turns counts, because the workers of that kind have already passed the smaller
    turns.
    """
    return _turn_behind(*_takers_and_turns(session, line, priority))


Fronts = Mapping[Line, tuple[int | None, int | None]]
"""The smallest turn in each line: of all ready runs, and of the ready runs that fit every worker."""


def _turn_behind(takers: Sequence[Kind], turns: Fronts) -> int:
    fronts = [
        min(waiting)
        for kind in takers
        for among in (0, 1)
        if (waiting := [turn for line in TAKEN_BY[kind] if (turn := turns[line][among]) is not None])
    ]
    return max(fronts) + ROUND // 2 if fronts else 0


def _takers_and_turns(session: Session, line: Line, priority: int) -> tuple[Sequence[Kind], Fronts]:
    """Kinds of live worker that take runs from a line, and the smallest turns at this priority in each line of these
    kinds. If no such worker is live, all kinds that could take runs from the line.
    """
    kinds = tuple(kind for kind, lines in TAKEN_BY.items() if line in lines)
    lines = tuple(sorted({competing for kind in kinds for competing in TAKEN_BY[kind]}))
    found = session.connection().execute(_select_fronts(lines, kinds), {"priority": priority}).one()
    count = len(lines)
    live = [kind for kind, is_there in zip(kinds, found[2 * count :], strict=True) if is_there]
    return live or kinds, dict(zip(lines, zip(found[:count], found[count : 2 * count], strict=True), strict=True))


@cache  # building the statement takes longer than executing it
def _select_fronts(lines: tuple[Line, ...], kinds: tuple[Kind, ...]) -> Select[Any]:
    """Build a query with three groups of columns: for each line, the smallest turn at the bound ``priority``; for each
    line, the smallest turn of runs that fit every worker; for each kind, whether such a worker is registered.
    """
    return select(
        *(_select_turns(line).with_only_columns(Run.turn).limit(1).scalar_subquery() for line in lines),
        *(_select_fitting_turn(line) for line in lines),
        *(registration.any_on(kind.device, fused=kind.fused) for kind in kinds),
    )


def _select_turns(line: Line) -> Select[int, int | None]:
    """Query for the turns of the ready runs of a line at the bound ``priority``, and for their memory."""
    at_priority = Run.priority == bindparam("priority")
    of_line = select(Run.turn, Run.memory_bytes).where(*line.ready, at_priority, Run.turn > AT_ONCE)
    return of_line.order_by(Run.turn)


def _select_fitting_turn(line: Line) -> ColumnElement[int | None]:
    """Query for the smallest turn of the runs of a line that fit every worker. If no worker says how much memory it
    gives, the result is null, and the database looks at no run."""
    least = registration.least_tensors()
    front = _select_turns(line).limit(LOOKED_AT).subquery()
    fits = or_(front.c.memory_bytes.is_(None), front.c.memory_bytes <= least)
    first = select(front.c.turn).where(fits).limit(1).scalar_subquery()
    return case((least.is_not(None), first))


class Turns:
    """Turns of runs that come into the queue together. They take turns with other experiments, like the runs of one
    experiment.
    """

    def __init__(self, session: Session, priority: int) -> None:
        self._session, self._priority = session, priority
        self._next: dict[Line, int] = {}

    def next(self, line: Line) -> int:
        """Turn of the next run that comes into a line."""
        turn = self._next[line] if line in self._next else next_turn(self._session, line, self._priority)
        self._next[line] = turn + ROUND
        return turn


def turn_behind_its_own(session: Session, run: Run) -> int:
    """Turn of a run that comes into the queue behind all other runs of its experiment, or of its sweep."""
    sweep_id = session.scalars(select(Experiment.sweep_id).where(Experiment.id == run.experiment_id)).one()
    company = of_experiment(run.experiment_id) if sweep_id is None else of_sweep(sweep_id)
    its_own = select(func.max(Run.turn)).where(*READY, company)
    last = session.scalars(its_own).one()
    behind = AT_ONCE if last is None else last + ROUND
    return max(behind, next_turn(session, Line(run.queue, run.needs_fused), run.priority))


def queue_position(session: Session, line: Line, priority: int) -> int:
    """Place that the first run of a new experiment would have in the queue; 1 is claimed next.

    Each kind of live worker has its own order of the runs that it takes. The smallest place over these kinds counts.
    """
    takers, turns = _takers_and_turns(session, line, priority)
    own = (-priority, _turn_behind(takers, turns))
    ahead = tuple_(-Run.priority, Run.turn) <= tuple_(*own)
    counts = [select(func.count()).select_from(Run).where(*of.ready, ahead).scalar_subquery() for of in turns]
    before = dict(zip(turns, session.execute(select(*counts)).one(), strict=True))
    places: list[int] = [1 + sum(before[taken] for taken in TAKEN_BY[kind]) for kind in takers]
    return min(places)

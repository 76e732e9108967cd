"""Order in which queued runs are claimed: by priority, and within one priority experiments take turns.

The queue is worked off in rounds, and each experiment has one run in each round. ``turn`` counts half rounds. The first
run of a new experiment is placed half a round after the run that is next at that moment. So it waits for at most one
run of every other experiment. Newcomers are never placed before the run that is next, so no run waits for ever. The
experiments of a sweep take one turn together, so that no experiment waits behind a whole sweep.

Which run is next depends on the worker: workers differ in their kind of device, in their fused kernels and in their
memory, and each kind takes other runs. Runs that no live worker can take are ignored here. If the workers of one kind
give more than ``MAX_SIZES`` different amounts of memory, only that many amounts count.

A run that its worker gives back goes before all other runs, because it has had its turn. A deferred run is not in the
queue during its pause. It comes back behind the other runs of its experiment or sweep, so that a thousand deferred runs
delay no other experiment.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ScalarSelect,
    Select,
    bindparam,
    false,
    func,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.orm import Session

from service.experiments.tables import Experiment, Run, of_experiment, of_sweep
from service.fleet import registration

SERVED_TOGETHER = {"cpu": ("auto", "cpu"), "cuda": ("auto", "cuda")}  # the queues of a worker, by its kind of device
ROUND = 2
AT_ONCE = -1  # turn of a run that was given back
MAX_SIZES = 8  # of workers' memory that a turn depends on, for each kind of worker
_WORKERS, _TURNS = "normbench workers", "normbench turns"  # keys in a session's own data
ORDER = (Run.priority.desc(), Run.turn, Run.id)
QUEUED = Run.state == "queued"
READY = (QUEUED, Run.cancel_requested == false(), Run.not_before.is_(None))


class QueuePart(NamedTuple):
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


def select_takers(
    workers: Iterable[registration.RegisteredWorker], line: QueuePart
) -> list[registration.RegisteredWorker]:
    """Select the workers that take runs from a line."""
    return [worker for worker in workers if worker.takes(line.queue) and (worker.fused or not line.needs_fused)]


def lines_of(queues: Iterable[str], *, fused: bool) -> tuple[QueuePart, ...]:
    """Lines from which a worker takes runs. ``queues`` are the queues that the worker listens to; ``fused`` says
    whether it has fused kernels.
    """
    return tuple(
        QueuePart(queue, needs_fused) for queue in queues for needs_fused in ((False, True) if fused else (False,))
    )


TAKEN_BY = {
    Kind(device, fused): lines_of(queues, fused=fused)
    for device, queues in SERVED_TOGETHER.items()
    for fused in (False, True)
}


def first_ready(line: QueuePart, fits: ColumnElement[bool] | None = None) -> Select[str]:
    """Query for the id of the next run of a line, which locks this run. On PostgreSQL, runs that another worker is
    claiming are skipped.

    Args:
        fits: condition that the worker may take a run; None if it may take all runs.
    """
    return _front(line, fits).with_for_update(skip_locked=True)


def by_urgency(session: Session, lines: Mapping[QueuePart, ColumnElement[bool] | None]) -> list[QueuePart]:
    """Lines in which a run is ready, sorted by their next runs: the most urgent line first.

    Args:
        lines: for each line, the condition that the worker may take a run; None if it may take all runs.
    """
    fronts = [_front(line, fits).scalar_subquery() for line, fits in lines.items()]
    found = session.execute(select(Run.queue, Run.needs_fused).where(Run.id.in_(fronts)).order_by(*ORDER))
    return [QueuePart(queue, needs_fused) for queue, needs_fused in found]


def _front(line: QueuePart, fits: ColumnElement[bool] | None) -> Select[str]:
    ready = line.ready if fits is None else (*line.ready, fits)
    return select(Run.id).where(*ready).order_by(*ORDER).limit(1)


def build_fit_condition(
    size: int | ColumnElement[int], largest: int | ColumnElement[int] | None
) -> ColumnElement[bool]:
    """Condition that a worker takes a run of a line: the worker gives the run enough memory, or no worker of the line
    does.

    Args:
        size: bytes that the worker gives the tensors of a run.
        largest: the most bytes that a worker of the line gives; None if that is not known.
    """
    fits = or_(Run.memory_bytes.is_(None), Run.memory_bytes <= size)
    return fits if largest is None else or_(fits, Run.memory_bytes > largest)


class Taker(NamedTuple):
    """Kind of worker that can take a new run, and what its workers give the tensors of a run.

    Attributes:
        sizes: different numbers of bytes, the smallest first; None, which comes last, if a number is not known.
        most: for each line of the kind, the largest number of bytes of all workers of that line; None if a number is
            not known. Every worker of the line takes a run that needs more.
    """

    kind: Kind
    sizes: tuple[int | None, ...]
    most: tuple[int | None, ...]


def next_turn(session: Session, line: QueuePart, priority: int, memory_bytes: int | None) -> int:
    """Turn of a new experiment's first run. Each further run of the experiment comes a ``ROUND`` later.

    The run that is next for a worker has the smallest turn of all ready runs that the worker can take. If several
    workers can take the new run, the largest of their smallest turns counts, because the others have already passed the
    smaller turns.
    """
    return _turn_behind(session, _find_takers(session, line, memory_bytes), priority)


def _turn_behind(session: Session, takers: tuple[Taker, ...], priority: int) -> int:
    """Find the turn half a round after the run that is next for the takers. A transaction looks for this run once: what
    it stores comes behind it.
    """
    known: dict[tuple[tuple[Taker, ...], int], int] = session.info.setdefault(_TURNS, {})
    if (takers, priority) not in known:
        known[takers, priority] = _read_turn_behind(session, takers, priority)
    return known[takers, priority]


def _read_turn_behind(session: Session, takers: tuple[Taker, ...], priority: int) -> int:
    query = _select_fronts(tuple((taker.kind, *map(_are_known, (taker.sizes, taker.most))) for taker in takers))
    bytes_of = {
        _bind_name(what, k, n): size
        for k, taker in enumerate(takers)
        for what, sizes in (("size", taker.sizes), ("most", taker.most))
        for n, size in enumerate(sizes)
        if size is not None
    }
    found = session.connection().execute(query, {"priority": priority, **bytes_of}).one()
    fronts = [turn for turn in found if turn is not None]
    return max(fronts) + ROUND // 2 if fronts else 0


def _are_known(sizes: Sequence[int | None]) -> tuple[bool, ...]:
    return tuple(size is not None for size in sizes)


def _find_takers(session: Session, line: QueuePart, memory_bytes: int | None) -> tuple[Taker, ...]:
    """Find the kinds of worker that can take a run. If no such worker is registered: all kinds that could take runs
    from the line."""
    kinds = [kind for kind, lines in TAKEN_BY.items() if line in lines]
    if _WORKERS not in session.info:  # a transaction that stores many experiments reads the workers once
        session.info[_WORKERS] = registration.list_registered(session)
    workers = session.info[_WORKERS]
    largest = find_most(workers, line)
    all_take_it = memory_bytes is None or (largest is not None and memory_bytes > largest)
    takers = []
    for kind in kinds:
        alike = [w for w in workers if Kind(w.kind, fused=w.fused is True) == kind]
        sizes = {worker.most_tensors for worker in alike}
        known = sorted(size for size in sizes if size is not None and (all_take_it or size >= memory_bytes))
        if known or None in sizes:
            most = tuple(find_most(workers, taken) for taken in TAKEN_BY[kind])
            takers.append(Taker(kind, (*_pick_sizes(known), *([None] if None in sizes else [])), most))
    return tuple(takers) or tuple(Taker(kind, (None,), (None,) * len(TAKEN_BY[kind])) for kind in kinds)


def find_most(workers: Iterable[registration.RegisteredWorker], line: QueuePart) -> int | None:
    """Find the most bytes that a worker of a line gives the tensors of a run; None if a number is not known."""
    sizes = [worker.most_tensors for worker in select_takers(workers, line)]
    return None if None in sizes else max((size for size in sizes if size is not None), default=None)


def _pick_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Pick ``MAX_SIZES`` of many sizes, the smallest and the largest among them."""
    if len(sizes) <= MAX_SIZES:
        return sizes
    return [sizes[k * (len(sizes) - 1) // (MAX_SIZES - 1)] for k in range(MAX_SIZES)]


def _bind_name(what: str, taker: int, number: int) -> str:
    """Name of the parameter of a query that is a number of bytes of a taker: of its ``size`` or of its ``most``."""
    return f"{what}_{taker}_{number}"


@cache  # building the statement takes longer than executing it
def _select_fronts(takers: tuple[tuple[Kind, tuple[bool, ...], tuple[bool, ...]], ...]) -> Select[Any]:
    """Build a query with a column for each taker: the smallest turn at the bound ``priority`` of the ready runs that
    its smallest worker can take. If that worker can take none, then of the next larger worker, and so on. A smaller
    worker takes fewer runs, so its smallest turn is the largest.

    Args:
        takers: for each taker its kind, which of its ``sizes`` are known, and which of its ``most``.
    """

    def bind(what: str, known: tuple[bool, ...], k: int) -> list[ColumnElement[int] | None]:
        names = [_bind_name(what, k, n) for n in range(len(known))]
        return [
            bindparam(name, type_=BigInteger) if is_known else None for name, is_known in zip(names, known, strict=True)
        ]

    columns: list[ColumnElement[Any]] = []
    for k, (kind, sizes, most) in enumerate(takers):
        fronts = [_select_front(kind, size, bind("most", most, k)) for size in bind("size", sizes, k)]
        columns.append(func.coalesce(*fronts) if len(fronts) > 1 else fronts[0])
    query: Select[Any] = select(*columns)
    return query


def _select_front(
    kind: Kind, size: ColumnElement[int] | None, most: Sequence[ColumnElement[int] | None]
) -> ScalarSelect[int]:
    """Build a query for the smallest turn of the ready runs that a worker of this kind and size can take."""
    of_lines = []
    for line, largest in zip(TAKEN_BY[kind], most, strict=True):
        ready = [*line.ready, Run.priority == bindparam("priority"), Run.turn > AT_ONCE]
        if size is not None:
            ready.append(build_fit_condition(size, largest))
        front = select(Run.turn).where(*ready).order_by(Run.turn).limit(1).subquery()
        of_lines.append(select(front.c.turn))
    return select(func.min(union_all(*of_lines).subquery().c.turn)).scalar_subquery()


class Turns:
    """Turns of runs that come into the queue together. They take turns with other experiments, like the runs of one
    experiment.
    """

    def __init__(self, session: Session, priority: int) -> None:
        self._session, self._priority = session, priority
        self._next: dict[QueuePart, int] = {}
        self._takers: dict[tuple[QueuePart, int | None], tuple[Taker, ...]] = {}

    def next(self, line: QueuePart, memory_bytes: int | None) -> int:
        """Turn of the next run that comes into a line. ``memory_bytes`` is what its tensors need; None if that is not
        known.
        """
        takers = self._takers.get((line, memory_bytes))
        if takers is None:
            takers = self._takers[line, memory_bytes] = _find_takers(self._session, line, memory_bytes)
        turn = max(_turn_behind(self._session, takers, self._priority), self._next.get(line, 0))
        self._next[line] = turn + ROUND
        return turn


def turn_behind_its_own(session: Session, run: Run) -> int:
    """Turn of a run that comes into the queue behind all other runs of its experiment, or of its sweep."""
    sweep_id = session.scalars(select(Experiment.sweep_id).where(Experiment.id == run.experiment_id)).one()
    company = of_experiment(run.experiment_id) if sweep_id is None else of_sweep(sweep_id)
    its_own = select(func.max(Run.turn)).where(*READY, company)
    last = session.scalars(its_own).one()
    behind = AT_ONCE if last is None else last + ROUND
    return max(behind, next_turn(session, QueuePart(run.queue, run.needs_fused), run.priority, run.memory_bytes))


def queue_position(session: Session, line: QueuePart, priority: int, memory_bytes: int | None) -> int:
    """Place that the first run of a new experiment would have in the queue; 1 is claimed next.

    Each kind of worker has its own order of the runs that it takes, and a smaller worker takes fewer runs. So the place
    in the order of the smallest worker that can take the new run counts, and the smallest place over the kinds.
    """
    takers = _find_takers(session, line, memory_bytes)
    own = (-priority, _turn_behind(session, takers, priority))
    ahead = tuple_(-Run.priority, Run.turn) <= tuple_(*own)
    parts = [
        [(taken, taker.sizes[0], largest) for taken, largest in zip(TAKEN_BY[taker.kind], taker.most, strict=True)]
        for taker in takers
    ]
    counted = list(dict.fromkeys(chain.from_iterable(parts)))  # kinds have lines in common
    counts = [_count_runs(taken, ahead, size, largest) for taken, size, largest in counted]
    before = dict(zip(counted, session.execute(select(*counts)).one(), strict=True))
    places: list[int] = [1 + sum(before[part] for part in of_taker) for of_taker in parts]
    return min(places)


def _count_runs(
    line: QueuePart, ahead: ColumnElement[bool], size: int | None, largest: int | None
) -> ScalarSelect[int]:
    """Build a query for the number of runs of a line that are ahead, and that a worker of this size can take."""
    fits = () if size is None else (build_fit_condition(size, largest),)
    return select(func.count()).select_from(Run).where(*line.ready, ahead, *fits).scalar_subquery()

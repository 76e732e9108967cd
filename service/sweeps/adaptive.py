"""Give another seed to the cells whose order is still open (``service.statistics.anytime``).

The scheduler takes this step, once all runs of a sweep have ended. Workers never do, because a run must not wait
for a comparison of all cells. The step is also taken after runs that failed, were cancelled or were lost. Each step
locks its sweep, so several schedulers may run. Its changes are committed at once.
"""

import logging
from collections.abc import Sequence

from sqlalchemy import false, select
from sqlalchemy.orm import Session

from normcore.footprint import footprint
from normcore.spec import ExperimentSpec, parse
from normcore.spec.tasks import BENCHMARKS
from service.experiments import memory
from service.experiments.lifecycle import WAITING
from service.experiments.submission import New, experiment_row, store
from service.experiments.tables import Experiment, Run
from service.leaderboards.queries import rows_of
from service.leaderboards.row import MeasuredEntry
from service.queue import Notification
from service.statistics.anytime import undecided
from service.sweeps.advice import OF_ALL_CELLS
from service.sweeps.reuse import find_earlier_runs
from service.sweeps.spec import MAX_SEEDS
from service.sweeps.submission import notification
from service.sweeps.tables import Sweep, SweepCell

log = logging.getLogger(__name__)

Cells = Sequence[SweepCell]


def advance(session: Session) -> list[Notification]:
    """Take the next step of every adaptive sweep whose runs have all ended.

    Returns:
        Messages to the workers on the new runs, to be sent after the commit.
    """
    waiting = select(Run.id).join(Experiment).where(Experiment.sweep_id == Sweep.id, Run.state.in_(WAITING)).exists()
    due = select(Sweep).where(Sweep.is_settled == false(), ~waiting).order_by(Sweep.id)
    sweeps = session.scalars(due.with_for_update(skip_locked=True)).all()
    return [message for sweep in sweeps for message in _advance(session, sweep)]


def _advance(session: Session, sweep: Sweep) -> list[Notification]:
    """Add seeds to cells until there is a new run, or until no order of cells is open any more."""
    cells = _complete(session, sweep)
    try:
        return _next_seeds(session, sweep, cells)
    except ValueError as error:  # for example because a plug-in was removed since
        log.warning("%s gets no more seeds, as a spec of it cannot be read: %s", sweep.id, error)
        sweep.is_settled = True
        return []


def _next_seeds(session: Session, sweep: Sweep, cells: Cells) -> list[Notification]:
    while wanting := _choose_cells(session, cells):
        runs = _add_seed(session, sweep, wanting)
        if runs:
            return runs
    sweep.is_settled = True
    return []


def _complete(session: Session, sweep: Sweep) -> Cells:
    """Cells whose runs have all succeeded. Other cells have a failed or cancelled run, and get no more seeds."""
    missing = select(Experiment.fingerprint).join(Run).where(Experiment.sweep_id == sweep.id, Run.state != "succeeded")
    cells = select(SweepCell).where(SweepCell.sweep_id == sweep.id, SweepCell.fingerprint.not_in(missing))
    return session.scalars(cells.order_by(SweepCell.number)).all()


def _choose_cells(session: Session, cells: Cells) -> Cells:
    """Cells that need another seed: their order is open, and they may have more seeds."""
    values = _values(session, cells)
    return [cell for k in undecided(values) if len((cell := cells[k]).seeds) < MAX_SEEDS]


def _values(session: Session, cells: Cells) -> list[dict[int, float]]:
    """Values with which each cell's seeds enter its score, by seed; only seeds of the sweep count."""
    fingerprints = [cell.fingerprint for cell in cells]
    worths = {fingerprint: _worths(row) for fingerprint, row in rows_of(session, fingerprints).items()}
    return [
        {seed: worth for seed, worth in worths.get(cell.fingerprint, {}).items() if seed in cell.seeds}
        for cell in cells
    ]


def _worths(row: MeasuredEntry) -> dict[int, float]:
    direction = BENCHMARKS[row.task].metric().direction
    of_seeds = {result.seed: result.worth(direction) for result in row.results}
    return {seed: worth for seed, worth in of_seeds.items() if worth is not None}


def _add_seed(session: Session, sweep: Sweep, cells: Cells) -> list[Notification]:
    """Give each of these cells its next seed. An earlier run of the seed is reused; else a new run is stored."""
    specs = {cell.fingerprint: _spec(session, sweep, cell) for cell in cells}
    seeds = {spec.seeds[0] for spec in specs.values()}
    known = find_earlier_runs(session, specs, seeds) if sweep.posted["reuse"] else {}
    new = []
    for cell in cells:
        spec = specs[cell.fingerprint]
        run = known.get((cell.fingerprint, spec.seeds[0]))
        cell.seeds = [*cell.seeds, *spec.seeds]
        sweep.n_runs += 1
        if run is not None:
            cell.reused = [*cell.reused, run.run_id]
            sweep.reused_runs += 1
        else:
            row = experiment_row(spec, request_digest=sweep.request_digest, sweep_id=sweep.id)
            new.append(New(row, spec, memory.tensors(footprint(spec))))
    return [notification(run) for run in store(session, new)] if new else []


def _spec(session: Session, sweep: Sweep, cell: SweepCell) -> ExperimentSpec:
    """Spec of a cell with only its next seed. Device, priority and labels come from the sweep, because the cell's
    experiment may be an earlier one with others."""
    stored = session.scalars(select(Experiment.spec).where(Experiment.id == cell.experiment_id)).one()
    of_cell = {name: part for name, part in stored.items() if name not in OF_ALL_CELLS}
    of_all = {name: part for name, part in sweep.posted["spec"].items() if name in OF_ALL_CELLS}
    return parse({**of_cell, **of_all, "seeds": [len(cell.seeds)]})

"""Plan of a sweep: its runs and their cost."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from service.experiments import fused_kernels
from service.experiments.memory import beside, tensors
from service.experiments.planning import Estimates
from service.experiments.turns import QueuePart, queue_position
from service.sweeps import schemas
from service.sweeps.expansion import CellSpec
from service.sweeps.spec import WrittenSweep
from service.sweeps.submission import plans

MAX_BASES = 3  # measurements that an estimate names


def plan(
    session: Session, written: WrittenSweep, cells: Sequence[CellSpec], heartbeat_seconds: float
) -> schemas.SweepPlan:
    """Plan a sweep: what would be stored, and how long its runs would take."""
    planned, estimates = plans(session, written, cells), Estimates(session)
    expected = {cell.fingerprint: estimates.of(cell.spec, cell.fingerprint) for cell in cells}
    of_cells = [(expected[plan.cell.fingerprint].seconds, len(plan.seeds)) for plan in planned]
    bases = dict.fromkeys(found.basis for found in expected.values() if found.basis)
    first, largest = cells[0].spec, max(cells, key=lambda cell: tensors(cell.needed) or 0)
    fit = beside(session, largest.spec, largest.needed, heartbeat_seconds)
    return schemas.SweepPlan(
        n_experiments=len(cells),
        n_runs=sum(len(cell.spec.seeds) for cell in cells),
        most_runs=written.most_runs,
        reused_runs=sum(len(plan.reused) for plan in planned),
        total_seconds=_total(of_cells),
        basis=_join_bases(list(bases)),
        queue_position=queue_position(
            session,
            QueuePart(first.device, fused_kernels.are_needed_by(first)),
            first.priority,
            tensors(cells[0].needed),
        ),
        memory_bytes=fit.needed,
        worker_memory_bytes=fit.given,
        live_workers=fit.n_workers,
        fitting_workers=fit.n_fitting,
        cells=[
            schemas.PlannedCell(
                dict(plan.cell.values), plan.cell.fingerprint, list(plan.seeds), expected[plan.cell.fingerprint].seconds
            )
            for plan in planned
        ],
    )


def _total(of_cells: Sequence[tuple[float | None, int]]) -> float | None:
    """Seconds of all runs, one after the other; None if the seconds of a cell are unknown."""
    known = [seconds * runs for seconds, runs in of_cells if seconds is not None]
    return round(sum(known), 3) if len(known) == len(of_cells) else None


def _join_bases(bases: Sequence[str]) -> str | None:
    more = [f"{len(bases) - MAX_BASES:,} more"] if len(bases) > MAX_BASES else []
    return "; ".join([*bases[:MAX_BASES], *more]) or None

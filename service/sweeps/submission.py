"""Store a sweep: its cells, and an experiment for each cell, in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert
from sqlalchemy.orm import Session

from service.db import rows_of, utc_now
from service.experiments.memory import tensors
from service.experiments.submission import New, experiment_row, store
from service.idempotency import find_earlier_row
from service.ids import new_id
from service.queue import Notification
from service.sweeps.expansion import CellSpec
from service.sweeps.reuse import EarlierRun, find_earlier_runs
from service.sweeps.spec import WrittenSweep
from service.sweeps.tables import Sweep, SweepCell

NEW_SWEEP = insert(rows_of(Sweep))
NEW_CELL = insert(rows_of(SweepCell))


class StoredSweep(NamedTuple):
    """A sweep that is stored. Send its ``notifications`` after the commit."""

    sweep_id: str
    is_new: bool
    notifications: Sequence[Notification] = ()


class CellPlan(NamedTuple):
    """Plan of a cell: the seeds to run, and the earlier runs that count for the other seeds."""

    cell: CellSpec
    seeds: Sequence[int]
    reused: Sequence[EarlierRun]


def submit(
    session: Session,
    written: WrittenSweep,
    cells: Sequence[CellSpec],
    *,
    request_digest: str,
    idempotency_key: str | None,
) -> StoredSweep:
    """Store a sweep with its experiments and their queued runs.

    Raises:
        Conflict: the key was used with another request.
    """
    known = find_earlier_sweep(session, request_digest, idempotency_key)
    if known is not None:
        return StoredSweep(known.id, is_new=False)
    return _store(session, written, plans(session, written, cells), request_digest, idempotency_key)


def find_earlier_sweep(session: Session, request_digest: str, idempotency_key: str | None) -> Sweep | None:
    """Find the sweep that an earlier request with the same key has stored.

    Raises:
        Conflict: the key was used with another request.
    """
    return find_earlier_row(session, Sweep, idempotency_key, request_digest, "sweep")


def plans(session: Session, written: WrittenSweep, cells: Sequence[CellSpec]) -> list[CellPlan]:
    """Plan the runs of each cell: seeds to run, and earlier runs to reuse."""
    seeds = cells[0].spec.seeds
    known = find_earlier_runs(session, {cell.fingerprint: cell.spec for cell in cells}, seeds) if written.reuse else {}
    return [
        CellPlan(
            cell,
            [seed for seed in seeds if (cell.fingerprint, seed) not in known],
            [known[cell.fingerprint, seed] for seed in seeds if (cell.fingerprint, seed) in known],
        )
        for cell in cells
    ]


def _store(
    session: Session,
    written: WrittenSweep,
    planned: Sequence[CellPlan],
    request_digest: str,
    idempotency_key: str | None,
) -> StoredSweep:
    sweep_id = new_id("swp")
    new = {plan.cell.fingerprint: _build_experiment(plan, sweep_id, request_digest) for plan in planned if plan.seeds}
    sweep = {
        "id": sweep_id,
        "posted": written.complete,
        "n_cells": len(planned),
        "n_runs": sum(len(plan.cell.spec.seeds) for plan in planned),
        "reused_runs": sum(len(plan.reused) for plan in planned),
        "is_settled": not written.adaptive,
        "idempotency_key": idempotency_key,
        "request_digest": request_digest,
        "created_at": utc_now(),
    }
    connection = session.connection()
    connection.execute(NEW_SWEEP, sweep)
    runs = store(session, list(new.values())) if new else []
    connection.execute(NEW_CELL, [_cell_row(sweep_id, k, plan, new) for k, plan in enumerate(planned)])
    return StoredSweep(sweep_id, is_new=True, notifications=[notification(run) for run in runs])


def _build_experiment(plan: CellPlan, sweep_id: str, request_digest: str) -> New:
    whole = plan.cell.spec
    spec = whole.model_copy(update={"seeds": list(plan.seeds)}) if plan.reused else whole
    row = experiment_row(spec, request_digest=request_digest, sweep_id=sweep_id)
    return New(row, spec, tensors(plan.cell.needed))


def _cell_row(sweep_id: str, number: int, plan: CellPlan, new: dict[str, New]) -> dict[str, Any]:
    own = new.get(plan.cell.fingerprint)
    return {
        "sweep_id": sweep_id,
        "number": number,
        "values": dict(plan.cell.values),
        "fingerprint": plan.cell.fingerprint,
        "experiment_id": own.row["id"] if own else plan.reused[0].experiment_id,
        "seeds": plan.cell.spec.seeds,
        "reused": [run.run_id for run in plan.reused],
    }


def notification(run: dict[str, Any]) -> Notification:
    """Notification of a stored run."""
    return Notification.of(run["id"], run["queue"], needs_fused=run["needs_fused"])

"""Lease of a run by a worker, and writes that need the lease. Rows are locked in the order of their ids, so that no two
transactions wait for each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, select, update
from sqlalchemy.orm import Session

from service.db import utc_now
from service.experiments.tables import Run


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write to a run, until the lease expires or the run goes to another attempt."""

    run_id: str
    attempt: int
    seconds: float


class LeaseLost(Exception):
    """The run belongs to another attempt by now, or has ended. Nothing was written."""


def match_lease(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    """Conditions of a query that the lease's attempt still holds the run."""
    return Run.id == lease.run_id, Run.attempt == lease.attempt, Run.state == "running"


def held_run(session: Session, lease: Lease) -> Run:
    """Read and lock the run of a lease.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    found = lock_runs(session, *match_lease(lease))
    if not found:
        raise LeaseLost(lease)
    return found[0]


def lock_runs(session: Session, *conditions: ColumnElement[bool], skip_locked: bool = False) -> Sequence[Run]:
    """Read runs as they are now, in the order of their ids, and lock them until the commit."""
    query = select(Run).where(*conditions).order_by(Run.id).with_for_update(skip_locked=skip_locked)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def write(session: Session, lease: Lease, **values: Any) -> None:
    """Write to the run of a lease.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended; nothing was written.
    """
    written = session.execute(
        update(Run).where(*match_lease(lease)).values(**values).execution_options(synchronize_session=False)
    )
    assert isinstance(written, CursorResult)
    if written.rowcount != 1:
        raise LeaseLost(lease)


def end_values() -> dict[str, Any]:
    """Values of the columns that change when a run ends."""
    return {"finished_at": utc_now(), "lease_expires_at": None, "worker_id": None}

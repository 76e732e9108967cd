"""The verbs that change a run's state, each in its own transaction, and the state in the database afterwards."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.db import Database, epoch_now
from service.experiments import lifecycle
from service.experiments.lifecycle import ClaimedRun, Lease
from service.experiments.tables import Run
from service.queue import Notification
from tests.service.sample_runs import ALL_QUEUES

MAX_ATTEMPTS = 3
WAYS_BACK: dict[str, Callable[[Session, Lease], Any]] = {
    "release": lambda s, lease: lifecycle.release(s, lease, "its worker stopped"),
    "defer": lambda s, lease: lifecycle.defer(s, lease, "disk full"),
    "lose": lambda s, lease: lifecycle.lose(s, lease, "killed", max_attempts=9),
    "take_back": lambda s, lease: lifecycle.take_back(s, max_attempts=9),
    "take_back_from": lambda s, lease: lifecycle.take_back_from(s, "wrk_1", max_attempts=9),
}


def done(db: Database, verb: Callable[[Session], Any]) -> Any:
    with db.transaction() as session:
        return verb(session)


def claim_one(db: Database, worker_id: str = "wrk_1", queues: Sequence[str] = ALL_QUEUES) -> ClaimedRun | None:
    with db.transaction() as session:
        return lifecycle.claim(session, queues=queues, worker_id=worker_id, lease_seconds=60)


def taken_back(db: Database, max_attempts: int = MAX_ATTEMPTS) -> list[Notification]:
    with db.transaction() as session:
        return lifecycle.take_back(session, max_attempts=max_attempts)


def released(db: Database, lease: Lease, reason: str = "its worker stopped") -> Notification | None:
    with db.transaction() as session:
        return lifecycle.release(session, lease, reason)


def lost(db: Database, lease: Lease) -> Notification | None:
    notification: Notification | None = done(
        db, lambda s: lifecycle.lose(s, lease, "killed", max_attempts=MAX_ATTEMPTS)
    )
    return notification


def deferred(db: Database, lease: Lease, reason: str = "disk full") -> None:
    done(db, lambda s: lifecycle.defer(s, lease, reason))


def pause_of(db: Database, run_id: str) -> float:
    """Seconds that the run still has to wait."""
    with db.snapshot() as session:
        return float(session.scalars(select(Run.not_before - epoch_now()).where(Run.id == run_id)).one() or 0.0)


def end_pauses(db: Database) -> None:
    done(db, lambda s: s.execute(update(Run).values(not_before=epoch_now())))
    done(db, lifecycle.end_pauses)


def cancel(db: Database, experiment_id: str) -> None:
    with db.transaction() as session:
        lifecycle.cancel(session, experiment_id)


def retry(db: Database, experiment_id: str) -> list[Notification]:
    with db.transaction() as session:
        return lifecycle.retry(session, experiment_id)


def everything_of(run: Run) -> dict[str, Any]:
    return {column.key: getattr(run, column.key) for column in Run.__table__.columns}


def database_time(db: Database) -> float:
    with db.snapshot() as session:
        return session.scalars(select(epoch_now())).one()

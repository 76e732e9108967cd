"""Requests of users: to cancel the runs of an experiment or of a sweep, and to retry them."""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, case, update
from sqlalchemy.orm import Session

from service.db import epoch_now, get_row, rows_of, utc_now
from service.experiments.lifecycle.history import ending_entry, with_entries
from service.experiments.lifecycle.lease import lock_runs
from service.experiments.lifecycle.states import WAITING
from service.experiments.tables import Experiment, Run, of_experiment
from service.experiments.turns import QueuePart, Turns
from service.queue import Notification

RETRIED = update(rows_of(Run)).where(Run.id == bindparam("of_run")).values(notified_at=epoch_now())


def cancel(session: Session, experiment_id: str) -> None:
    """Cancel the queued runs of an experiment at once, and ask the workers to stop its running runs.

    Raises:
        NotFound: there is no such experiment.
    """
    get_row(session, Experiment, experiment_id, "experiment")
    cancel_all(session, of_experiment(experiment_id))


def cancel_all(session: Session, which: ColumnElement[bool]) -> None:
    """Cancel all runs that meet a condition."""
    waiting = [run.id for run in lock_runs(session, which, Run.state.in_(WAITING))]
    is_queued = Run.state == "queued"
    session.execute(
        update(Run)
        .where(Run.id.in_(waiting))
        .values(
            cancel_requested=True,
            state=case((is_queued, "cancelled"), else_=Run.state),
            finished_at=case((is_queued, utc_now()), else_=Run.finished_at),
        )
        .execution_options(synchronize_session=False)
    )


def retry(session: Session, experiment_id: str) -> list[Notification]:
    """Open a new attempt of every failed and cancelled run of an experiment. The attempt resumes from the last
    checkpoint. The run's history says how the attempt before ended.

    Raises:
        NotFound: there is no such experiment.
    """
    get_row(session, Experiment, experiment_id, "experiment")
    return retry_all(session, of_experiment(experiment_id))


def retry_all(session: Session, which: ColumnElement[bool]) -> list[Notification]:
    """Retry all failed and cancelled runs that meet a condition. Together they take turns with other experiments, like
    the runs of one experiment.
    """
    ended = lock_runs(session, which, Run.state.in_(("failed", "cancelled")))
    if not ended:
        return []
    turns = Turns(session, ended[0].priority)
    again: dict[str, Any] = {
        "state": "queued",
        "times_lost": 0,
        "times_deferred": 0,
        "not_before": None,
        "cancel_requested": False,
        "error": None,
        "finished_at": None,
    }
    changed = [
        {
            **again,
            "of_run": run.id,
            "turn": turns.next(QueuePart(run.queue, run.needs_fused), run.memory_bytes),
            "attempt": run.attempt + 1,
            "history": with_entries(run.history, ending_entry(run)),
        }
        for run in ended
    ]
    session.connection().execute(RETRIED, changed)
    return [Notification.of(run.id, run.queue, needs_fused=run.needs_fused) for run in ended]

"""What users ask for: to cancel an experiment's runs, and to retry them."""

from typing import Any

from sqlalchemy import case, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
from service.errors import NotFound
from service.experiments.lifecycle.history import ending_entry, with_entries
from service.experiments.lifecycle.lease import locked
from service.experiments.lifecycle.states import WAITING
from service.experiments.tables import Experiment, Run
from service.experiments.turns import ROUND, Line, next_turn
from service.queue import Notification


def cancel(session: Session, experiment_id: str) -> None:
    """Cancel queued runs at once; ask the workers to stop running ones.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    waiting = [run.id for run in locked(session, Run.experiment_id == experiment_id, Run.state.in_(WAITING))]
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
    """Open a new attempt of every failed and cancelled run; it resumes from the last checkpoint. How the last attempt
    ended is kept in the run's history.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    ended = locked(session, Run.experiment_id == experiment_id, Run.state.in_(("failed", "cancelled")))
    if not ended:
        return []
    first = next_turn(session, Line(ended[0].queue, ended[0].needs_fused), ended[0].priority)
    again: dict[str, Any] = {
        "state": "queued",
        "times_lost": 0,
        "times_deferred": 0,
        "not_before": None,
        "cancel_requested": False,
        "error": None,
        "finished_at": None,
        "notified_at": epoch_now(),
    }
    for k, run in enumerate(ended):
        session.execute(
            update(Run)
            .where(Run.id == run.id)
            .values(
                **again,
                turn=first + ROUND * k,
                attempt=run.attempt + 1,
                history=with_entries(run.history, ending_entry(run)),
            )
            .execution_options(synchronize_session=False)
        )
    return [Notification.of(run.id, run.queue, needs_fused=run.needs_fused) for run in ended]


def _require(session: Session, experiment_id: str) -> None:
    if session.get(Experiment, experiment_id) is None:
        raise NotFound(f"no experiment {experiment_id!r}")

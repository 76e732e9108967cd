"""Ways of a run back to the queue, each with a new attempt. A run that somebody asked to cancel is cancelled."""

import logging
from typing import Any

from sqlalchemy import ColumnElement, update
from sqlalchemy.orm import Session

from service.db import epoch_now
from service.experiments.lifecycle.attempt import confirm_cancel, fail
from service.experiments.lifecycle.history import attempt_entry, with_entries
from service.experiments.lifecycle.lease import Lease, held_run, lock_runs, write
from service.experiments.tables import Run
from service.experiments.turns import AT_ONCE, turn_behind_its_own
from service.queue import Notification

log = logging.getLogger(__name__)

MAX_PAUSE_SECONDS = 60.0  # of a deferred run; the first pause is one second, each further pause twice as long


def release(session: Session, lease: Lease, reason: str) -> Notification | None:
    """Give the run back unfinished, because the worker stops.

    Returns:
        The notification to send; None if the run was cancelled, because somebody had asked for that.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    return _give_back(session, held_run(session, lease), lease, reason)


def defer(session: Session, lease: Lease, reason: str) -> None:
    """Queue the run again after a pause, because something that the training needs does not work, such as a disk or a
    network.

    Each pause is longer than the pause before, until the run writes a new checkpoint. The scheduler ends pauses.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    run = held_run(session, lease)
    pause = min(2.0 ** min(run.times_deferred, 30), MAX_PAUSE_SECONDS)
    _give_back(
        session,
        run,
        lease,
        f"{reason}; the next try is in {pause:g} s",
        turn=run.turn,
        times_deferred=run.times_deferred + 1,
        not_before=epoch_now() + pause,
        notified_at=0.0,
    )


def end_pauses(session: Session) -> None:
    """Put the runs whose pause is over back into the queue."""
    for run in lock_runs(session, Run.state == "queued", Run.not_before <= epoch_now(), skip_locked=True):
        turn = turn_behind_its_own(session, run)
        session.execute(
            update(Run)
            .where(Run.id == run.id)
            .values(turn=turn, not_before=None)
            .execution_options(synchronize_session=False)
        )


def lose(session: Session, lease: Lease, reason: str, *, max_attempts: int) -> Notification | None:
    """Queue the run again, because its attempt broke off. The run fails if this happened ``max_attempts`` times without
    a new checkpoint.

    Returns:
        The notification to send; None if the run failed, or was cancelled because somebody had asked for that.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    run = held_run(session, lease)
    if not run.cancel_requested and run.times_lost + 1 >= max_attempts:
        before = [entry["reason"] for entry in run.history if entry["lost"]]
        reasons = [*before[len(before) - run.times_lost :], reason]
        fail(session, lease, f"lost {max_attempts} times without a new checkpoint: " + "; ".join(reasons))
        return None
    return _give_back(session, run, lease, reason, lost=True, times_lost=run.times_lost + 1)


def take_back(session: Session, *, max_attempts: int) -> list[Notification]:
    """Queue again the runs whose lease ran out, because their worker is gone or cannot reach the database."""
    expired = Run.lease_expires_at < epoch_now()
    return _take_back(session, expired, "worker {worker} stopped renewing its lease", max_attempts)


def take_back_from(session: Session, worker_id: str, *, max_attempts: int) -> list[Notification]:
    """Queue again the run of a worker that is known to be gone."""
    return _take_back(session, Run.worker_id == worker_id, "worker {worker} ended", max_attempts)


def _take_back(session: Session, which: ColumnElement[bool], reason: str, max_attempts: int) -> list[Notification]:
    notifications = []
    for run in lock_runs(session, Run.state == "running", which, skip_locked=True):
        cause = reason.format(worker=run.worker_id)
        log.warning("%s, attempt %d: %s", run.id, run.attempt, cause)
        notification = lose(session, Lease(run.id, run.attempt, 0.0), cause, max_attempts=max_attempts)
        notifications += [notification] if notification else []
    return notifications


def _give_back(
    session: Session, run: Run, lease: Lease, reason: str, *, lost: bool = False, **values: Any
) -> Notification | None:
    if run.cancel_requested:
        confirm_cancel(session, lease)
        return None
    given_back: dict[str, Any] = {
        "state": "queued",
        "attempt": lease.attempt + 1,
        "turn": AT_ONCE,
        "history": with_entries(run.history, attempt_entry(lease, reason, lost=lost)),
        "worker_id": None,
        "lease_expires_at": None,
        "notified_at": epoch_now(),
    }
    write(session, lease, **given_back | values)
    return Notification.of(run.id, run.queue, needs_fused=run.needs_fused)

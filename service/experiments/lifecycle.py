"""The only module that changes a run's state. Two doors: the API above, the workers and the scheduler below.

    queued ──claim──▶ running ──finish──▶ succeeded
      ▲  │               │ └────fail────▶ failed
      │  └──cancel──▶ cancelled ◀─cancelled─┘
      └─release, defer, lose (attempt + 1)─┘      retry: failed, cancelled ──▶ queued (attempt + 1)

A run that somebody asked to cancel is never queued again: whatever would do that cancels it. Who changes several runs
locks them first, in the order of their ids, or passes over those that others hold, so that no two wait for each other.

Nobody here commits; the caller's transaction does. Messages are sent after the commit, by the caller.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, case, func, select, update
from sqlalchemy.orm import Session

from normcore.events import Analysed, Measured, Outcome, Result, Started
from service.db import epoch_now, utc_now
from service.errors import NotFound
from service.experiments import measurements
from service.experiments.tables import Experiment, Run
from service.experiments.turns import (
    AT_ONCE,
    ORDER,
    READY,
    ROUND,
    by_urgency,
    first_ready,
    next_turn,
    turn_behind_its_own,
)
from service.queue import Notification

log = logging.getLogger(__name__)

MAX_PAUSE_SECONDS = 60.0  # of a deferred run; the first pause is one second, each further one twice the last
MAX_HISTORY = 100  # entries; the newest stay
WAITING, ENDED = ("queued", "running"), ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write to a run, until it expires or the run moves on to another attempt."""

    run_id: str
    attempt: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that was taken from the queue, with all a worker needs to train it.

    Attributes:
        started_attempt, resumed_from: the attempt that trained last, if one did, and the step that it went on from. All
            measurements up to there are stored, and none of earlier attempts beyond it.
        model_attempt: for an analysis of a trained model, the attempt that left it; else 0.
    """

    lease: Lease
    seed: int
    spec: Mapping[str, Any]
    started_attempt: int
    resumed_from: int
    model_attempt: int


class LeaseLost(Exception):
    """The run belongs to another attempt by now, or has ended; nothing was written."""


# -- the API's door -------------------------------------------------------------------------------


def cancel(session: Session, experiment_id: str) -> None:
    """Stop what is queued at once; ask the workers to stop what is running.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    waiting = [run.id for run in _locked(session, Run.experiment_id == experiment_id, Run.state.in_(WAITING))]
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
    """Open a new attempt of every failed and cancelled run; it goes on from its last checkpoint. What ended the last
    attempt is kept in the run's history.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    ended = _locked(session, Run.experiment_id == experiment_id, Run.state.in_(("failed", "cancelled")))
    if not ended:
        return []
    first = next_turn(session, ended[0].queue, ended[0].priority)
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
                **again, turn=first + ROUND * k, attempt=run.attempt + 1, history=_longer(run.history, _end_of(run))
            )
            .execution_options(synchronize_session=False)
        )
    return [Notification(run.id, run.queue) for run in ended]


# -- the workers' door ----------------------------------------------------------------------------


def claim(session: Session, *, queues: Sequence[str], worker_id: str, lease_seconds: float) -> Claim | None:
    """Take the run of these queues that is next, if there is one; see ``service.experiments.turns``."""
    for queue in by_urgency(session, queues):
        run = session.execute(
            update(Run)
            .where(Run.id == first_ready(queue).scalar_subquery(), Run.state == "queued")
            .values(
                state="running",
                worker_id=worker_id,
                lease_expires_at=epoch_now() + lease_seconds,
                started_at=func.coalesce(Run.started_at, utc_now()),
            )
            .returning(Run.id, Run.attempt, Run.seed, Run.experiment_id, Run.started_attempt, Run.resumed_from_step)
            .execution_options(synchronize_session=False)
        ).one_or_none()
        if run is not None:
            spec = session.scalars(select(Experiment.spec).where(Experiment.id == run.experiment_id)).one()
            return Claim(
                Lease(run.id, run.attempt, lease_seconds),
                run.seed,
                spec,
                started_attempt=run.started_attempt or 0,
                resumed_from=run.resumed_from_step or 0,
                model_attempt=_model_attempt(session, spec),
            )
    return None


def _model_attempt(session: Session, spec: Mapping[str, Any]) -> int:
    trained = spec["task"].get("run")
    return (session.scalars(select(Run.attempt).where(Run.id == trained)).one_or_none() or 0) if trained else 0


def start(
    session: Session,
    lease: Lease,
    started: Started,
    *,
    device: str,
    resumed_from: int | None,
    measured: Sequence[Measured] = (),
    notes: Sequence[str] = (),
) -> None:
    """Note what the training runs on and where it begins; what was measured after that is undone.

    An attempt that goes on from further than the one before it shows that the run gets ahead: its losses and pauses
    count from nought again.

    Args:
        resumed_from: the step of the checkpoint it goes on from, if there was one.
        measured: what that checkpoint brings along: measurements that may not be stored yet.
        notes: what there is to say of checkpoints that could not be used; kept in the run's history.

    Raises:
        LeaseLost: the run has moved on.
    """
    run = _held_run(session, lease)
    progress = {"times_lost": 0, "times_deferred": 0} if (resumed_from or 0) > (run.resumed_from_step or 0) else {}
    _write(
        session,
        lease,
        device=device,
        kernel=started.kernel,
        environment=dict(started.environment),
        step=started.step,
        max_steps=started.max_steps,
        started_attempt=lease.attempt,
        resumed_from_step=resumed_from,
        history=_longer(run.history, *(_history_entry(lease, note) for note in notes)),
        **progress,
    )
    measurements.undo(session, lease.run_id, after=started.step)
    measurements.store(session, lease.run_id, lease.attempt, measured)


def record(
    session: Session,
    lease: Lease,
    measured: Sequence[Measured],
    *,
    step: int,
    seconds: float,
    pace: float | None,
    saved: int = 0,
) -> bool:
    """Store measurements and progress and renew the lease; the same measurement again changes nothing.

    Args:
        step, seconds: how far the training is.
        pace: steps per second of late, for the time left.
        saved: the step of the newest checkpoint. Beyond the one that the attempt went on from, it shows that the run
            gets ahead: losses and pauses count from nought again.

    Returns:
        Whether somebody asked to cancel the run.

    Raises:
        LeaseLost: the run has moved on; nothing was stored.
    """
    gets_ahead = func.coalesce(Run.resumed_from_step, 0) < saved
    cancel_requested = session.execute(
        update(Run)
        .where(*_held(lease))
        .values(
            lease_expires_at=epoch_now() + lease.seconds,
            step=step,
            seconds=seconds,
            steps_per_second=pace,
            times_lost=case((gets_ahead, 0), else_=Run.times_lost),
            times_deferred=case((gets_ahead, 0), else_=Run.times_deferred),
        )
        .returning(Run.cancel_requested)
        .execution_options(synchronize_session=False)
    ).scalar_one_or_none()
    if cancel_requested is None:
        raise LeaseLost(lease)
    measurements.store(session, lease.run_id, lease.attempt, measured)
    return cancel_requested


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """The analysis is complete. Called by ``service.results`` only.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(
        session,
        lease,
        state="succeeded",
        outcome="completed",
        result={"findings": [asdict(finding) for finding in analysed.findings], "seconds": analysed.seconds},
        seconds=analysed.seconds,
        **_ended(),
    )


def finish(session: Session, lease: Lease, outcome: Outcome, result: Result) -> str:
    """The training is complete, diverged or not. Called by ``service.results`` only.

    Returns:
        The experiment's fingerprint, under which the result counts.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(
        session,
        lease,
        state="succeeded",
        outcome=outcome,
        result=asdict(result),
        value=result.value,
        steps_to_target=result.steps_to_target,
        seconds_to_target=result.seconds_to_target,
        seconds=result.train_seconds,
        **_ended(),
    )
    experiment = select(Run.experiment_id).where(Run.id == lease.run_id).scalar_subquery()
    return session.scalars(select(Experiment.fingerprint).where(Experiment.id == experiment)).one()


def has_succeeded(session: Session, lease: Lease) -> bool:
    """Whether the run has succeeded with this very attempt."""
    succeeded = select(Run.id).where(Run.id == lease.run_id, Run.attempt == lease.attempt, Run.state == "succeeded")
    return session.scalar(succeeded) is not None


def fail(session: Session, lease: Lease, error: str) -> None:
    """The run cannot go on, and another attempt would not change that.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(session, lease, state="failed", error=_storable(error), **_ended())


def cancelled(session: Session, lease: Lease) -> None:
    """The worker stopped the run as asked.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(session, lease, state="cancelled", **_ended())


def release(session: Session, lease: Lease, reason: str) -> Notification | None:
    """Give the run back unfinished, through no fault of its own: its worker stops.

    Returns:
        The message to send, or None if the run was to be cancelled and now is; likewise ``defer`` and ``lose``.

    Raises:
        LeaseLost: the run has moved on.
    """
    return _give_back(session, _held_run(session, lease), lease, reason)


def defer(session: Session, lease: Lease, reason: str) -> Notification | None:
    """Something that the training needs is in trouble, a disk or a network: the run is queued again after a pause,
    which grows each time until the run gets to a new checkpoint.

    Raises:
        LeaseLost: the run has moved on.
    """
    run = _held_run(session, lease)
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
    return None  # the scheduler notifies the workers when the pause is over


def end_pauses(session: Session) -> None:
    """Put the runs whose pause is over back into the queue."""
    for run in _locked(session, Run.state == "queued", Run.not_before <= epoch_now(), skip_locked=True):
        turn = turn_behind_its_own(session, run)
        session.execute(
            update(Run)
            .where(Run.id == run.id)
            .values(turn=turn, not_before=None)
            .execution_options(synchronize_session=False)
        )


def lose(session: Session, lease: Lease, reason: str, *, max_attempts: int) -> Notification | None:
    """The attempt broke off. The run is queued again, or fails if that happened ``max_attempts`` times since it last
    got to a new checkpoint.

    Raises:
        LeaseLost: the run has moved on.
    """
    run = _held_run(session, lease)
    if not run.cancel_requested and run.times_lost + 1 >= max_attempts:
        before = [entry["reason"] for entry in run.history if entry["lost"]]
        reasons = [*before[len(before) - run.times_lost :], reason]
        fail(session, lease, f"lost {max_attempts} times at one place: " + "; ".join(reasons))
        return None
    return _give_back(session, run, lease, reason, lost=True, times_lost=run.times_lost + 1)


def take_back(session: Session, *, max_attempts: int) -> list[Notification]:
    """Queue again the runs whose lease ran out: their worker is gone, or cut off."""
    expired = Run.lease_expires_at < epoch_now()
    return _take_back(session, expired, "worker {worker} stopped renewing its lease", max_attempts)


def take_back_from(session: Session, worker_id: str, *, max_attempts: int) -> list[Notification]:
    """Queue again what this worker held, which is known to be gone."""
    return _take_back(session, Run.worker_id == worker_id, "worker {worker} ended", max_attempts)


def _take_back(session: Session, which: ColumnElement[bool], reason: str, max_attempts: int) -> list[Notification]:
    notifications = []
    for run in _locked(session, Run.state == "running", which, skip_locked=True):
        said = reason.format(worker=run.worker_id)
        log.warning("%s, attempt %d: %s", run.id, run.attempt, said)
        notification = lose(session, Lease(run.id, run.attempt, 0.0), said, max_attempts=max_attempts)
        notifications += [notification] if notification else []
    return notifications


def notify_again(session: Session, *, idle: Mapping[str, int], after_seconds: float) -> list[Notification]:
    """Notify workers again of queued runs whose message seems lost: workers are idle, and it was sent long ago.

    Args:
        idle: how many idle workers take runs from each queue; workers are notified of so many runs at most.
        after_seconds: how long ago a run's last message must have been sent.
    """
    notifications = []
    for queue, workers in idle.items():
        long_ago = Run.notified_at < epoch_now() - after_seconds
        waiting = session.scalars(
            select(Run.id)
            .where(Run.queue == queue, long_ago, *READY)
            .order_by(*ORDER)
            .limit(workers)
            .with_for_update(skip_locked=True)
        ).all()
        session.execute(
            update(Run)
            .where(Run.id.in_(waiting))
            .values(notified_at=epoch_now())
            .execution_options(synchronize_session=False)
        )
        notifications += [Notification(run_id, queue) for run_id in waiting]
    return notifications


# -- shared by all verbs ---------------------------------------------------------------------------


def _require(session: Session, experiment_id: str) -> None:
    if session.get(Experiment, experiment_id) is None:
        raise NotFound(f"no experiment {experiment_id!r}")


def _held(lease: Lease) -> tuple[ColumnElement[bool], ...]:
    return Run.id == lease.run_id, Run.attempt == lease.attempt, Run.state == "running"


def _held_run(session: Session, lease: Lease) -> Run:
    """The run of a lease, locked.

    Raises:
        LeaseLost: the run has moved on.
    """
    held = _locked(session, *_held(lease))
    if not held:
        raise LeaseLost(lease)
    return held[0]


def _locked(session: Session, *conditions: ColumnElement[bool], skip_locked: bool = False) -> Sequence[Run]:
    """Runs as they are now, ours until the commit, in the order of their ids."""
    query = select(Run).where(*conditions).order_by(Run.id).with_for_update(skip_locked=skip_locked)
    return session.scalars(query.execution_options(populate_existing=True)).all()


def _write(session: Session, lease: Lease, **values: Any) -> None:
    written = session.execute(
        update(Run).where(*_held(lease)).values(**values).execution_options(synchronize_session=False)
    )
    assert isinstance(written, CursorResult)
    if written.rowcount != 1:
        raise LeaseLost(lease)


def _ended() -> dict[str, Any]:
    return {"finished_at": utc_now(), "lease_expires_at": None, "worker_id": None}


def _give_back(
    session: Session, run: Run, lease: Lease, reason: str, *, lost: bool = False, **values: Any
) -> Notification | None:
    if run.cancel_requested:
        cancelled(session, lease)
        return None
    given_back: dict[str, Any] = {
        "state": "queued",
        "attempt": lease.attempt + 1,
        "turn": AT_ONCE,
        "history": _longer(run.history, _history_entry(lease, reason, lost=lost)),
        "worker_id": None,
        "lease_expires_at": None,
        "notified_at": epoch_now(),
    }
    _write(session, lease, **given_back | values)
    return Notification(run.id, run.queue)


def _history_entry(lease: Lease, reason: str, *, lost: bool = False) -> dict[str, Any]:
    return {"attempt": lease.attempt, "at": utc_now().isoformat(), "reason": _storable(reason), "lost": lost}


def _end_of(run: Run) -> dict[str, Any]:
    """What a retry would forget otherwise."""
    assert run.finished_at is not None
    reason = f"{run.state}: {run.error}" if run.error else run.state
    return {"attempt": run.attempt, "at": run.finished_at.isoformat(), "reason": f"{reason}; retried", "lost": False}


def _longer(history: Sequence[dict[str, Any]], *entries: dict[str, Any]) -> list[dict[str, Any]]:
    return [*history, *entries][-MAX_HISTORY:]


def _storable(text: str) -> str:
    """The text without what PostgreSQL cannot store: NUL and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")

"""The only module that changes a run's state. Two doors: the API above, the workers and the scheduler below.

    queued ──claim──▶ running ──finish──▶ succeeded
      ▲  │               │ └────fail────▶ failed
      │  └──cancel──▶ cancelled ◀─cancelled─┘
      └──release, take_back (attempt + 1)──┘      retry: failed, cancelled ──▶ queued (attempt + 1)

Nobody here commits; the caller's transaction does. Messages are sent after the commit, by the caller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.events import Analysed, Measured, Outcome, Result, Started
from normcore.spec import ExperimentSpec
from service.db import epoch_now, rows_of, utc_now
from service.errors import Conflict, NotFound
from service.experiments.schemas import ExperimentOut, experiment_out, submitted_out
from service.experiments.tables import Experiment, Label, Measurement, Run
from service.ids import new_id

WAITING, ENDED = ("queued", "running"), ("succeeded", "failed", "cancelled")
NEW_EXPERIMENT = insert(rows_of(Experiment))
NEW_RUN = insert(rows_of(Run)).values(rung_at=epoch_now())
NEW_LABEL = insert(rows_of(Label))


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write to a run, until it expires or the run moves on to another attempt."""

    run_id: str
    attempt: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that was taken from the queue, with all a worker needs to train it."""

    lease: Lease
    seed: int
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bell:
    """A message to send once the transaction is committed."""

    run_id: str
    queue: str


class LeaseLost(Exception):
    """The run belongs to another attempt by now, or has ended; nothing was written."""


# -- the API's door -------------------------------------------------------------------------------


def submit(
    session: Session, spec: ExperimentSpec, *, request_digest: str, idempotency_key: str | None = None
) -> tuple[ExperimentOut, bool]:
    """Store an experiment with one queued run for each seed.

    Returns:
        What to show of the experiment, and whether it is new: the same key with the same request finds the first one.

    Raises:
        Conflict: the key was used with another request.
    """
    if idempotency_key is not None:
        known = session.scalar(select(Experiment).where(Experiment.idempotency_key == idempotency_key))
        if known is not None:
            if known.request_digest != request_digest:
                raise Conflict("this Idempotency-Key was used with another body; use a new key for a new experiment")
            return experiment_out(known), False

    row: dict[str, Any] = {
        "id": new_id("exp"),
        "fingerprint": spec.fingerprint(),
        "setting": spec.fingerprint(without=("norm",)),
        "task": spec.task.name,
        "profile": spec.task.profile,
        "method": spec.norm.method if spec.norm else None,
        "spec": spec.model_dump(mode="json"),
        "idempotency_key": idempotency_key,
        "request_digest": request_digest,
        "created_at": utc_now(),
    }
    runs = [_queued_run(row["id"], seed, spec, row["created_at"]) for seed in spec.seeds]
    labels = [{"key": key, "value": value, "experiment_id": row["id"]} for key, value in spec.labels.items()]
    connection = session.connection()
    connection.execute(NEW_EXPERIMENT, row)
    connection.execute(NEW_RUN, runs)
    if labels:
        connection.execute(NEW_LABEL, labels)
    return submitted_out(row, runs), True


def _queued_run(experiment_id: str, seed: int, spec: ExperimentSpec, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id("run"),
        "experiment_id": experiment_id,
        "seed": seed,
        "queue": spec.device,
        "priority": spec.priority,
        "max_steps": spec.max_steps,
        "state": "queued",
        "attempt": 1,
        "times_lost": 0,
        "history": [],
        "step": 0,
        "seconds": 0.0,
        "cancel_requested": False,
        "created_at": now,
    }


def cancel(session: Session, experiment_id: str) -> None:
    """Stop what is queued at once; ask the workers to stop what is running.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    of_this = Run.experiment_id == experiment_id
    session.execute(update(Run).where(of_this, Run.state == "queued").values(state="cancelled", finished_at=utc_now()))
    session.execute(update(Run).where(of_this, Run.state == "running").values(cancel_requested=True))


def retry(session: Session, experiment_id: str) -> list[Bell]:
    """Open a new attempt of every failed and cancelled run; it goes on from its last checkpoint.

    Raises:
        NotFound: no such experiment.
    """
    _require(session, experiment_id)
    retried = session.execute(
        update(Run)
        .where(Run.experiment_id == experiment_id, Run.state.in_(("failed", "cancelled")))
        .values(
            state="queued",
            attempt=Run.attempt + 1,
            times_lost=0,
            cancel_requested=False,
            error=None,
            finished_at=None,
            rung_at=epoch_now(),
        )
        .returning(Run.id, Run.queue)
    )
    return [Bell(run_id, queue) for run_id, queue in retried]


# -- the workers' door ----------------------------------------------------------------------------


def claim(session: Session, *, queues: Sequence[str], worker_id: str, lease_seconds: float) -> Claim | None:
    """Take the most urgent, oldest queued run of these queues, if there is one."""
    first = (
        select(Run.id)
        .where(Run.state == "queued", Run.queue.in_(queues))
        .order_by(Run.priority.desc(), Run.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    row = session.execute(
        update(Run)
        .where(Run.id == first, Run.state == "queued")
        .values(
            state="running",
            worker_id=worker_id,
            lease_expires_at=epoch_now() + lease_seconds,
            started_at=func.coalesce(Run.started_at, utc_now()),
        )
        .returning(Run.id, Run.attempt, Run.seed, Run.experiment_id)
        .execution_options(synchronize_session=False)
    ).one_or_none()
    if row is None:
        return None
    spec = session.scalars(select(Experiment.spec).where(Experiment.id == row.experiment_id)).one()
    return Claim(Lease(row.id, row.attempt, lease_seconds), row.seed, spec)


def begin(
    session: Session,
    lease: Lease,
    started: Started,
    *,
    device: str,
    resumed_from: int | None,
    notes: Sequence[str] = (),
) -> None:
    """Note what the training runs on and where it begins; what was measured after that is undone.

    Args:
        resumed_from: the step of the checkpoint it goes on from, if there was one.
        notes: what there is to say of checkpoints that could not be used; kept in the run's history.

    Raises:
        LeaseLost: the run has moved on.
    """
    history = session.scalars(select(Run.history).where(*_held(lease))).one_or_none() or []
    _write(
        session,
        lease,
        device=device,
        kernel=started.kernel,
        environment=dict(started.environment),
        step=started.step,
        max_steps=started.max_steps,
        resumed_from_step=resumed_from,
        history=[*history, *(_history_entry(lease, note) for note in notes)],
    )
    session.execute(delete(Measurement).where(Measurement.run_id == lease.run_id, Measurement.step > started.step))


def record(
    session: Session, lease: Lease, measured: Sequence[Measured], *, step: int, seconds: float, pace: float | None
) -> bool:
    """Store measurements and progress and renew the lease; the same measurement again changes nothing.

    Args:
        step, seconds: how far the training is.
        pace: steps per second of late, for the time left.

    Returns:
        Whether somebody asked to cancel the run.

    Raises:
        LeaseLost: the run has moved on; nothing was stored.
    """
    cancel_requested = session.execute(
        update(Run)
        .where(*_held(lease))
        .values(lease_expires_at=epoch_now() + lease.seconds, step=step, seconds=seconds, steps_per_second=pace)
        .returning(Run.cancel_requested)
        .execution_options(synchronize_session=False)
    ).scalar_one_or_none()
    if cancel_requested is None:
        raise LeaseLost(lease)
    rows = [
        {
            "run_id": lease.run_id,
            "step": m.step,
            "series": series,
            "value": value,
            "seconds": m.seconds,
            "attempt": lease.attempt,
        }
        for m in measured
        for series, value in m.values.items()
    ]
    if rows:
        session.execute(_upsert(session), rows)
    return cancel_requested


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """The analysis is done.

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
    """The training ended by itself, diverged or not.

    Returns:
        The fingerprint whose leaderboard entry is to be pooled anew, in this transaction.

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


def fail(session: Session, lease: Lease, error: str) -> None:
    """The run cannot go on, and another attempt would not change that.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(session, lease, state="failed", error=error, **_ended())


def cancelled(session: Session, lease: Lease) -> None:
    """The worker stopped the run as asked.

    Raises:
        LeaseLost: the run has moved on.
    """
    _write(session, lease, state="cancelled", **_ended())


def release(session: Session, lease: Lease, reason: str) -> Bell:
    """Give the run back unfinished, through no fault of its own: its worker stops.

    Raises:
        LeaseLost: the run has moved on.
    """
    return _give_back(session, lease, reason, lost=0)


def lose(session: Session, lease: Lease, reason: str, *, max_attempts: int) -> Bell | None:
    """The attempt broke off. The run is queued again, or fails if that happened ``max_attempts`` times.

    Raises:
        LeaseLost: the run has moved on.
    """
    run = session.scalars(select(Run).where(*_held(lease)).with_for_update()).one_or_none()
    if run is None:
        raise LeaseLost(lease)
    if run.cancel_requested:
        cancelled(session, lease)
        return None
    if run.times_lost + 1 >= max_attempts:
        before = [entry["reason"] for entry in run.history if entry["lost"]]
        reasons = [*before[len(before) - run.times_lost :], reason]
        fail(session, lease, f"lost {max_attempts} times: " + "; ".join(reasons))
        return None
    return _give_back(session, lease, reason, lost=1)


def take_back(session: Session, *, max_attempts: int) -> list[Bell]:
    """Queue again the runs whose lease ran out: their worker is gone, or cut off."""
    expired = session.execute(
        select(Run.id, Run.attempt, Run.worker_id)
        .where(Run.state == "running", Run.lease_expires_at < epoch_now())
        .with_for_update(skip_locked=True)
    ).all()
    bells = []
    for run_id, attempt, worker_id in expired:
        lease = Lease(run_id, attempt, 0.0)
        bell = lose(session, lease, f"worker {worker_id} stopped renewing its lease", max_attempts=max_attempts)
        bells += [bell] if bell else []
    return bells


def ring_again(session: Session, *, idle: Mapping[str, int], after_seconds: float) -> list[Bell]:
    """Ring for queued runs whose message seems lost: workers are idle, and the last message is some time ago.

    Args:
        idle: how many idle workers listen to each queue; so many runs at most are rung for.
        after_seconds: how long ago a run's last message must be.
    """
    bells = []
    for queue, workers in idle.items():
        waiting = (
            select(Run.id)
            .where(Run.state == "queued", Run.queue == queue, Run.rung_at < epoch_now() - after_seconds)
            .order_by(Run.priority.desc(), Run.id)
            .limit(workers)
        )
        rung = session.execute(
            update(Run).where(Run.id.in_(waiting)).values(rung_at=epoch_now()).returning(Run.id, Run.queue)
        )
        bells += [Bell(run_id, queue) for run_id, queue in rung]
    return bells


# -- shared by all verbs ---------------------------------------------------------------------------


def _require(session: Session, experiment_id: str) -> None:
    if session.get(Experiment, experiment_id) is None:
        raise NotFound(f"no experiment {experiment_id!r}")


def _held(lease: Lease) -> tuple[Any, ...]:
    return Run.id == lease.run_id, Run.attempt == lease.attempt, Run.state == "running"


def _write(session: Session, lease: Lease, **values: Any) -> None:
    written = session.execute(
        update(Run).where(*_held(lease)).values(**values).execution_options(synchronize_session=False)
    )
    assert isinstance(written, CursorResult)
    if written.rowcount != 1:
        raise LeaseLost(lease)


def _ended() -> dict[str, Any]:
    return {"finished_at": utc_now(), "lease_expires_at": None, "worker_id": None}


def _give_back(session: Session, lease: Lease, reason: str, *, lost: int) -> Bell:
    run = session.scalars(select(Run).where(*_held(lease)).with_for_update()).one_or_none()
    if run is None:
        raise LeaseLost(lease)
    _write(
        session,
        lease,
        state="queued",
        attempt=lease.attempt + 1,
        times_lost=run.times_lost + lost,
        history=[*run.history, _history_entry(lease, reason, lost=bool(lost))],
        worker_id=None,
        lease_expires_at=None,
        rung_at=epoch_now(),
    )
    return Bell(run.id, run.queue)


def _history_entry(lease: Lease, reason: str, *, lost: bool = False) -> dict[str, Any]:
    return {"attempt": lease.attempt, "at": utc_now().isoformat(), "reason": reason, "lost": lost}


def _upsert(session: Session) -> Any:
    """A later attempt's measurement takes the place of an earlier attempt's at the same step."""
    dialect = session.get_bind().dialect.name
    statement = (postgresql if dialect == "postgresql" else sqlite).insert(rows_of(Measurement))
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["run_id", "step", "series"],
        set_={"value": new.value, "seconds": new.seconds, "attempt": new.attempt},
    )

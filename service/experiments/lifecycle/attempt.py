"""An attempt from its start to its end, as its worker reports it to the database."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from normcore.events import Analysed, Measured, Outcome, Phase, Result, Started
from normcore.own_code import own_code
from service.db import epoch_now, utc_now
from service.experiments import measurements
from service.experiments.lifecycle import kernels
from service.experiments.lifecycle.history import attempt_entry, replace_unstorable, with_entries
from service.experiments.lifecycle.lease import Lease, LeaseLost, end_values, held_run, match_lease, write
from service.experiments.tables import Run


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
    """Store what the training runs on, and the step at which it starts; delete measurements after that step.

    If the training resumes from a later step than the attempt before, the run makes progress: the counts of losses and
    pauses start at zero again. The kernels of a run that resumes include the kernels of its earlier attempts.

    Args:
        resumed_from: the step of the checkpoint that the training resumes from; None without a checkpoint.
        measured: measurements in the checkpoint, which may not be stored yet.
        notes: texts that say which checkpoints could not be used, and why; they go into the run's history.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    run = held_run(session, lease)
    progress = {"times_lost": 0, "times_deferred": 0} if (resumed_from or 0) > (run.resumed_from_step or 0) else {}
    kernel, environment, changed = kernels.combine_kernels(run, started, resumes=resumed_from is not None)
    write(
        session,
        lease,
        device=device,
        kernel=kernel,
        environment=environment,
        code=own_code(environment),
        code_at=run.code_at if resumed_from is not None and run.code_at else utc_now(),
        step=started.step,
        max_steps=started.max_steps,
        started_attempt=lease.attempt,
        resumed_from_step=resumed_from,
        history=with_entries(run.history, *(attempt_entry(lease, note) for note in (*notes, *changed))),
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
    phase: Phase | None = None,
    saved: int = 0,
) -> bool:
    """Store measurements and progress, and renew the lease. Storing the same measurement again changes nothing.

    Args:
        step, seconds: progress of the training: its updates, and their seconds.
        pace: steps per second, to estimate the time left.
        phase: phase of the evaluation that is going on; None between evaluations.
        saved: the step of the newest checkpoint. If it is later than the step from which the attempt resumed, the run
            makes progress: the counts of losses and pauses start at zero again.

    Returns:
        True if somebody asked to cancel the run.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended; nothing was stored.
    """
    makes_progress = func.coalesce(Run.resumed_from_step, 0) < saved
    cancel_requested = session.execute(
        update(Run)
        .where(*match_lease(lease))
        .values(
            lease_expires_at=epoch_now() + lease.seconds,
            step=step,
            seconds=seconds,
            steps_per_second=pace,
            phase=phase,
            times_lost=case((makes_progress, 0), else_=Run.times_lost),
            times_deferred=case((makes_progress, 0), else_=Run.times_deferred),
        )
        .returning(Run.cancel_requested)
        .execution_options(synchronize_session=False)
    ).scalar_one_or_none()
    if cancel_requested is None:
        raise LeaseLost(lease)
    measurements.store(session, lease.run_id, lease.attempt, measured)
    return cancel_requested


def finish(
    session: Session,
    lease: Lease,
    outcome: Outcome,
    result: Result,
    *,
    timing: Mapping[str, Any] | None = None,
    machine: str | None = None,
) -> None:
    """Store the end of a training that is complete, diverged or not. Called by ``service.results`` only.

    Args:
        timing: seconds by purpose, with their certificate; see ``service.experiments.certificates``.
        machine: the machine that the certificate is about.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    write(
        session,
        lease,
        state="succeeded",
        outcome=outcome,
        result=asdict(result),
        value=result.value,
        seconds=result.train_seconds,
        timing=timing,
        machine=machine,
        **end_values(),
    )


def finish_analysis(session: Session, lease: Lease, analysed: Analysed) -> None:
    """Store the end of an analysis that is complete. Called by ``service.results`` only.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    write(
        session,
        lease,
        state="succeeded",
        outcome="completed",
        result={"findings": [asdict(finding) for finding in analysed.findings], "seconds": analysed.seconds},
        seconds=analysed.seconds,
        **end_values(),
    )


def has_succeeded(session: Session, lease: Lease) -> bool:
    """Tell if the run has succeeded with this attempt."""
    succeeded = select(Run.id).where(Run.id == lease.run_id, Run.attempt == lease.attempt, Run.state == "succeeded")
    return session.scalar(succeeded) is not None


def fail(session: Session, lease: Lease, error: str) -> None:
    """Store that the run failed. It would fail again in another attempt.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    write(session, lease, state="failed", error=replace_unstorable(error), **end_values())


def confirm_cancel(session: Session, lease: Lease) -> None:
    """Store that the worker stopped the run, because somebody asked to cancel it.

    Raises:
        LeaseLost: the run belongs to another attempt by now, or has ended.
    """
    write(session, lease, state="cancelled", **end_values())

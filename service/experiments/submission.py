"""Store a submitted spec: an experiment, with one queued run for each seed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert
from sqlalchemy.orm import Session

from normcore.problem import problem_of
from normcore.spec import ExperimentSpec, TrainingSpec
from service.db import epoch_now, rows_of, utc_now
from service.experiments import fused_kernels
from service.experiments.schemas import ExperimentOut, experiment_out, submitted_out
from service.experiments.tables import Experiment, Label, Run
from service.experiments.turns import QueuePart, Turns
from service.idempotency import find_earlier_row
from service.ids import new_id

NEW_EXPERIMENT = insert(rows_of(Experiment))
NEW_RUN = insert(rows_of(Run)).values(notified_at=epoch_now())
NEW_LABEL = insert(rows_of(Label))


def submit(
    session: Session,
    spec: ExperimentSpec,
    *,
    memory_bytes: int | None,
    request_digest: str,
    idempotency_key: str | None = None,
) -> tuple[ExperimentOut, bool]:
    """Store an experiment with one queued run for each seed.

    Args:
        memory_bytes: least memory of a run, see ``memory.tensors``. Compute it before the transaction.

    Returns:
        The experiment as the API shows it, and whether it is new. The same key with the same request returns the first
            experiment.

    Raises:
        Conflict: the key was used with another request.
    """
    known = find_earlier_experiment(session, request_digest, idempotency_key)
    if known is not None:
        return experiment_out(known), False

    row = experiment_row(spec, request_digest=request_digest, idempotency_key=idempotency_key)
    runs = store(session, [New(row, spec, memory_bytes)])
    return submitted_out(row, runs), True


def find_earlier_experiment(session: Session, request_digest: str, idempotency_key: str | None) -> Experiment | None:
    """Find the experiment that an earlier request with the same key has stored.

    Raises:
        Conflict: the key was used with another request.
    """
    return find_earlier_row(session, Experiment, idempotency_key, request_digest, "experiment")


class New(NamedTuple):
    """An experiment that is not stored yet, and the least memory of its runs, see ``memory.tensors``."""

    row: dict[str, Any]
    spec: ExperimentSpec
    memory_bytes: int | None


def experiment_row(
    spec: ExperimentSpec, *, request_digest: str, idempotency_key: str | None = None, sweep_id: str | None = None
) -> dict[str, Any]:
    """Build the row of an experiment, without its runs and labels."""
    return {
        "id": new_id("exp"),
        **columns_of(spec),
        "idempotency_key": idempotency_key,
        "request_digest": request_digest,
        "sweep_id": sweep_id,
        "created_at": utc_now(),
    }


def store(session: Session, experiments: Sequence[New]) -> list[dict[str, Any]]:
    """Store experiments of one priority, each with a queued run for each seed. Together they take turns with other
    experiments, like one experiment: first come the first seeds of all, then the second seeds, and so on.

    Returns:
        The rows of the runs, in the order in which the runs take turns.
    """
    turns = Turns(session, experiments[0].spec.priority)
    runs = [
        _queued_run(new, new.spec.seeds[k], turns)
        for k in range(max(len(new.spec.seeds) for new in experiments))
        for new in experiments
        if k < len(new.spec.seeds)
    ]
    labels = [
        {"key": key, "value": value, "experiment_id": new.row["id"]}
        for new in experiments
        for key, value in new.spec.labels.items()
    ]
    connection = session.connection()
    connection.execute(NEW_EXPERIMENT, [new.row for new in experiments])
    connection.execute(NEW_RUN, runs)
    if labels:
        connection.execute(NEW_LABEL, labels)
    return runs


def columns_of(spec: ExperimentSpec) -> dict[str, Any]:
    """Columns of an experiment's row that follow from its spec. A training is ranked with others of the same problem
    and budget; an analysis has no problem and no budget.
    """
    fingerprint, setting = spec.fingerprint_and_setting()
    return {
        "fingerprint": fingerprint,
        "setting": setting,
        "task": spec.task.name,
        "profile": spec.task.profile,
        "method": spec.norm.method if spec.norm else None,
        "problem": problem_of(spec.task).id if isinstance(spec, TrainingSpec) else None,
        "budget": spec.budget if isinstance(spec, TrainingSpec) else None,
        "spec_version": spec.spec_version,
        "spec": spec.model_dump(mode="json"),
    }


def _queued_run(new: New, seed: int, turns: Turns) -> dict[str, Any]:
    spec, needs_fused = new.spec, fused_kernels.are_needed_by(new.spec)
    return {
        "id": new_id("run"),
        "experiment_id": new.row["id"],
        "seed": seed,
        "turn": turns.next(QueuePart(spec.device, needs_fused), new.memory_bytes),
        "queue": spec.device,
        "needs_fused": needs_fused,
        "memory_bytes": new.memory_bytes,
        "priority": spec.priority,
        "max_steps": spec.max_steps,
        "state": "queued",
        "attempt": 1,
        "times_lost": 0,
        "times_deferred": 0,
        "history": [],
        "step": 0,
        "seconds": 0.0,
        "cancel_requested": False,
        "created_at": new.row["created_at"],
    }

"""Store a submitted spec: an experiment, with one queued run for each seed."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from normcore.problem import problem_of
from normcore.spec import ExperimentSpec, TrainingSpec
from service.db import epoch_now, rows_of, utc_now
from service.errors import Conflict
from service.experiments import fused_kernels
from service.experiments.schemas import ExperimentOut, experiment_out, submitted_out
from service.experiments.tables import Experiment, Label, Run
from service.experiments.turns import ROUND, Line, next_turn
from service.ids import new_id

NEW_EXPERIMENT = insert(rows_of(Experiment))
NEW_RUN = insert(rows_of(Run)).values(notified_at=epoch_now())
NEW_LABEL = insert(rows_of(Label))


def submit(
    session: Session,
    spec: ExperimentSpec,
    *,
    request_digest: str,
    idempotency_key: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> tuple[ExperimentOut, bool]:
    """Store an experiment with one queued run for each seed.

    Args:
        check: raises if what the spec asks for is not there now; not called for an experiment that was accepted before.

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
    check()

    row: dict[str, Any] = {
        "id": new_id("exp"),
        **columns_of(spec),
        "idempotency_key": idempotency_key,
        "request_digest": request_digest,
        "created_at": utc_now(),
    }
    first = next_turn(session, Line(spec.device, fused_kernels.needed_by(spec)), spec.priority)
    turns = range(first, first + ROUND * len(spec.seeds), ROUND)
    runs = [
        _queued_run(row["id"], seed, turn, spec, row["created_at"])
        for seed, turn in zip(spec.seeds, turns, strict=True)
    ]
    labels = [{"key": key, "value": value, "experiment_id": row["id"]} for key, value in spec.labels.items()]
    connection = session.connection()
    connection.execute(NEW_EXPERIMENT, row)
    connection.execute(NEW_RUN, runs)
    if labels:
        connection.execute(NEW_LABEL, labels)
    return submitted_out(row, runs), True


def columns_of(spec: ExperimentSpec) -> dict[str, Any]:
    """What an experiment's row has of its spec. A training's problem and budget decide with which others it is ranked;
    an analysis has none."""
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


def _queued_run(experiment_id: str, seed: int, turn: int, spec: ExperimentSpec, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id("run"),
        "experiment_id": experiment_id,
        "seed": seed,
        "turn": turn,
        "queue": spec.device,
        "needs_fused": fused_kernels.needed_by(spec),
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
        "created_at": now,
    }

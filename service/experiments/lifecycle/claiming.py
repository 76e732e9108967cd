"""A worker takes a run from the queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
from service.experiments import memory
from service.experiments.lifecycle.lease import Lease
from service.experiments.tables import Experiment, Run
from service.experiments.turns import by_urgency, first_ready, lines_of


@dataclass(frozen=True, slots=True)
class Claim:
    """A run taken from the queue, with what a worker needs to train it.

    Attributes:
        started_attempt, resumed_from: the last attempt that started training (0 if none did), and the step at which it
            started. All measurements up to that step are stored; those of earlier attempts after it are deleted.
        model_attempt: for an analysis of a trained model, the attempt that stored it; else 0.
    """

    lease: Lease
    seed: int
    spec: Mapping[str, Any]
    started_attempt: int
    resumed_from: int
    model_attempt: int


def claim(
    session: Session, *, queues: Sequence[str], worker_id: str, lease_seconds: float, fused: bool = False
) -> Claim | None:
    """Take the next run of these queues, if one waits; see ``service.experiments.turns`` for the order. Runs that need
    more memory than the worker gives are left to workers that give enough.

    Args:
        fused: whether the worker has fused kernels; runs that need them are left to others if it has none.
    """
    fitting = memory.fitting(session, worker_id, lines_of(queues, fused=fused))
    for line in by_urgency(session, fitting):
        run = session.execute(
            update(Run)
            .where(Run.id == first_ready(line, fitting[line]).scalar_subquery(), Run.state == "queued")
            .values(
                state="running",
                worker_id=worker_id,
                phase=None,
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

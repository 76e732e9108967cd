"""Claim of a run: a worker takes it from the queue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.db import epoch_now, utc_now
from service.experiments import memory
from service.experiments.analysis_model import Model
from service.experiments.lifecycle.lease import Lease
from service.experiments.tables import Experiment, Run
from service.experiments.turns import by_urgency, first_ready, lines_of


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run taken from the queue, with what a worker needs to train it.

    Attributes:
        started_attempt, resumed_from: the last attempt that started training (0 if there is none), and the step at
            which it started. All measurements up to that step are stored. Measurements of earlier attempts after that
            step are deleted.
        model: the trained model that the spec of an analysis names; else None.
    """

    lease: Lease
    seed: int
    spec: Mapping[str, Any]
    started_attempt: int
    resumed_from: int
    model: Model | None


def claim(
    session: Session, *, queues: Sequence[str], worker_id: str, lease_seconds: float, fused: bool = False
) -> ClaimedRun | None:
    """Take the next run of these queues if a run waits; see ``service.experiments.turns`` for the order. A run that
    needs more memory than this worker gives is left to workers that give enough.

    Args:
        fused: whether the worker has fused kernels. Without them it leaves the runs that need them to other workers.
    """
    fitting = memory.build_fit_conditions(session, worker_id, lines_of(queues, fused=fused))
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
            return ClaimedRun(
                Lease(run.id, run.attempt, lease_seconds),
                run.seed,
                spec,
                started_attempt=run.started_attempt or 0,
                resumed_from=run.resumed_from_step or 0,
                model=_model(session, spec),
            )
    return None


def _model(session: Session, spec: Mapping[str, Any]) -> Model | None:
    run_id = spec["task"].get("run")
    if not run_id:
        return None
    trained = select(Run.attempt, Experiment.spec, Run.code).join(Experiment).where(Run.id == run_id)
    found = session.execute(trained).one_or_none()
    return None if found is None else Model(*found)

"""Keep the entries in step with the runs."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.spec import TrainingSpec, changes
from service.experiments.tables import Experiment, Run
from service.leaderboards.ranking import Pooled, RunResult, pool
from service.leaderboards.tables import Entry

MAX_EXPERIMENTS = 20


def refresh(session: Session, fingerprint: str) -> None:
    """Pool anew all succeeded trainings of a fingerprint; call it in the transaction that ends one of them."""
    newest = session.scalars(
        select(Experiment.id)
        .where(Experiment.fingerprint == fingerprint)
        .order_by(Experiment.id.desc())
        .limit(MAX_EXPERIMENTS)
    ).all()
    _lock(session, session.get_one(Experiment, newest[0]))
    rows = session.execute(
        select(Run.seed, Run.outcome, Run.value, Run.steps_to_target, Run.seconds_to_target)
        .join(Experiment)
        .where(Experiment.fingerprint == fingerprint, Run.state == "succeeded")
    )
    pooled = pool(RunResult(seed, outcome == "diverged", *rest) for seed, outcome, *rest in rows)
    values = {**_columns(pooled), "experiments": list(newest)}
    session.execute(update(Entry).where(Entry.fingerprint == fingerprint).values(values))


def _lock(session: Session, experiment: Experiment) -> None:
    """Make sure the row is there and ours until the commit, so that two runs that end together both count."""
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    session.execute(
        dialect.insert(Entry)
        .values(
            fingerprint=experiment.fingerprint,
            setting=experiment.setting,
            task=experiment.task,
            profile=experiment.profile,
            method=experiment.method,
            changes=changes(TrainingSpec.model_validate(experiment.spec)),
            experiments=[],
            **_columns(pool([])),
        )
        .on_conflict_do_nothing()
    )
    session.execute(select(Entry.fingerprint).where(Entry.fingerprint == experiment.fingerprint).with_for_update())


def _columns(pooled: Pooled) -> Mapping[str, Any]:
    value = pooled.value
    low, high = value.ci95 if value and value.ci95 else (None, None)
    return {
        "n_runs": pooled.n_runs,
        "n_seeds": pooled.n_seeds,
        "n_diverged": pooled.n_diverged,
        "mean": value.mean if value else None,
        "std": value.std if value else None,
        "ci_low": low,
        "ci_high": high,
        "steps_median": pooled.steps_to_target.median,
        "steps_reached": pooled.steps_to_target.reached,
        "seconds_median": pooled.seconds_to_target.median,
        "seconds_reached": pooled.seconds_to_target.reached,
    }

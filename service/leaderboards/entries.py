"""Keep the entries in step with the runs."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.problem import problem_of
from normcore.spec import TrainingSpec, changes, parse
from service.experiments.tables import Experiment, Run
from service.leaderboards.ranking import Pooled, RunResult, kernel_of, pool
from service.leaderboards.tables import Entry

log = logging.getLogger(__name__)

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
    results = _results(session, fingerprint)
    pooled = pool(
        RunResult(
            seed=result["seed"],
            diverged=result["outcome"] == "diverged",
            value=result["value"],
            values=result["values"],
            steps_to_target=result["steps_to_target"],
            seconds_to_target=result["seconds_to_target"],
        )
        for result in results
    )
    kernel = kernel_of(result["kernel"] for result in results)
    values = {**_columns(pooled), "kernel": kernel, "results": results, "experiments": list(newest)}
    session.execute(update(Entry).where(Entry.fingerprint == fingerprint).values(values))


def refresh_missing(session: Session) -> None:
    """Pool the results of every fingerprint that has some and no entry, as after a migration that changed entries.

    A spec that cannot be read, as of a plug-in that is not installed, is left off the boards until it can be.
    """
    missing = (
        select(Experiment.fingerprint)
        .join(Run)
        .where(
            Run.state == "succeeded",
            Experiment.problem.is_not(None),
            Experiment.fingerprint.not_in(select(Entry.fingerprint)),
        )
        .distinct()
    )
    for fingerprint in session.scalars(missing).all():
        try:
            refresh(session, fingerprint)
        except ValueError as error:
            log.warning("no entry for fingerprint %s, whose spec cannot be read: %s", fingerprint[:12], error)


def _results(session: Session, fingerprint: str) -> list[dict[str, Any]]:
    """What each succeeded run came to, the first run of a seed before others of it."""
    rows = session.execute(
        select(Run.id, Run.seed, Run.outcome, Run.kernel, Run.result)
        .join(Experiment)
        .where(Experiment.fingerprint == fingerprint, Run.state == "succeeded")
        .order_by(Run.seed, Run.id)
    )
    return [
        {"run_id": id, "seed": seed, "outcome": outcome, "kernel": kernel, **result}
        for id, seed, outcome, kernel, result in rows
    ]


def _lock(session: Session, experiment: Experiment) -> None:
    """Make sure the row is there and ours until the commit, so that two runs that end together both count."""
    spec = cast(TrainingSpec, parse(experiment.spec))
    dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
    session.execute(
        dialect.insert(Entry)
        .values(
            fingerprint=experiment.fingerprint,
            setting=experiment.setting,
            task=experiment.task,
            profile=experiment.profile,
            method=experiment.method,
            problem=experiment.problem,
            options=problem_of(spec.task).options,
            budget=experiment.budget,
            changes=changes(spec),
            results=[],
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
        "values": {name: asdict(center) for name, center in pooled.values.items()},
        "mean": value.mean if value else None,
        "std": value.std if value else None,
        "ci_low": low,
        "ci_high": high,
        "steps_median": pooled.steps_to_target.median,
        "steps_reached": pooled.steps_to_target.reached,
        "seconds_median": pooled.seconds_to_target.median,
        "seconds_reached": pooled.seconds_to_target.reached,
    }

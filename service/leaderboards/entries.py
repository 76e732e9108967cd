"""Keep the entries in step with the runs."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, cast

from sqlalchemy import Select, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.problem import problem_of
from normcore.spec import TrainingSpec, changes, parse
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from service.experiments.machines import hardware, machine
from service.experiments.tables import Experiment, Run
from service.leaderboards.board import Row
from service.leaderboards.pooling import Evidence, Pooled, RunResult, pool
from service.leaderboards.tables import Entry

log = logging.getLogger(__name__)

MAX_EXPERIMENTS = 20


def add(session: Session, run_id: str) -> None:
    """Count a run that has succeeded; call it once, in the transaction that ends it."""
    run, experiment = session.execute(_succeeded().where(Run.id == run_id)).one()
    _lock(session, experiment)
    known = session.execute(
        select(Entry.n_runs, Entry.results, Entry.conflicting_seeds).where(Entry.fingerprint == experiment.fingerprint)
    ).one()
    results = [RunResult(**stored) for stored in known.results]
    evidence = Evidence(known.n_runs, results, known.conflicting_seeds)
    _store(session, experiment, evidence.and_also(_result(run, experiment)))


def refresh(session: Session, fingerprint: str) -> None:
    """Pool anew all succeeded trainings of a fingerprint."""
    of_fingerprint = _succeeded().where(Experiment.fingerprint == fingerprint)
    rows = session.execute(of_fingerprint.order_by(Run.finished_at, Run.id)).all()
    _lock(session, rows[-1][1])
    _store(session, rows[-1][1], evidence_of(rows))


def row_of(rows: Sequence[tuple[Run, Experiment]]) -> Row:
    """The entry of succeeded runs of one fingerprint, in the order in which they ended; nothing is stored."""
    evidence, (_, experiment) = evidence_of(rows), rows[-1]
    spec = cast(TrainingSpec, parse(experiment.spec))
    return Row(
        fingerprint=experiment.fingerprint,
        setting=experiment.setting,
        method=cast(str, experiment.method),
        budget=cast(int, experiment.budget),
        changes=changes(spec),
        experiments=sorted({experiment.id for _, experiment in rows}, reverse=True)[:MAX_EXPERIMENTS],
        n_runs=evidence.n_runs,
        results=evidence.results,
        conflicting_seeds=list(evidence.conflicting_seeds),
        pooled=_pool(evidence, spec.task),
    )


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


def evidence_of(rows: Iterable[tuple[Run, Experiment]]) -> Evidence:
    """What succeeded runs of one fingerprint come to, in the order in which they ended."""
    evidence = Evidence()
    for run, experiment in rows:
        evidence = evidence.and_also(_result(run, experiment))
    return evidence


def _succeeded() -> Select[Run, Experiment]:
    rows = select(Run, Experiment).join(Experiment).where(Run.state == "succeeded")
    return rows.execution_options(populate_existing=True)  # an UPDATE of this transaction may have ended the run


def _result(run: Run, experiment: Experiment) -> RunResult:
    result, environment = cast(dict[str, Any], run.result), run.environment or {}
    reached, steps, seconds = _time_to_target(run, experiment)
    return RunResult(
        run_id=run.id,
        seed=run.seed,
        diverged=run.outcome == "diverged",
        value=result["value"],
        values=result["values"],
        valid_value=result["valid_value"],
        no_skill=result["no_skill"],
        reached=reached,
        steps=steps,
        seconds=seconds,
        max_steps=run.max_steps,
        machine=machine(environment),
        hardware=hardware(environment),
        kernel=run.kernel,
        contended=run.timing is None or run.timing["certificate"]["contended"],
    )


def _time_to_target(run: Run, experiment: Experiment) -> tuple[bool | None, float, float]:
    """Whether the run reached its board's target, and when; unknown if it had another target.

    Of a miss, when one stopped looking: at the last evaluation that was below, or, if the run diverged, which is no
    withdrawal, at the end of its budget.
    """
    result = cast(dict[str, Any], run.result)
    target = BENCHMARKS[experiment.task].profiles[cast(ProfileName, experiment.profile)].training["target"]
    if target is None or experiment.spec["training"]["target"] != target:
        return None, 0.0, 0.0
    if result["steps_to_target"] is not None:
        return True, result["steps_to_target"], result["seconds_to_target"]
    if run.outcome == "diverged":
        return False, float(run.max_steps), run.seconds * run.max_steps / max(1, run.step)
    return False, result["steps_below_target"], result["seconds_below_target"]


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
            experiments=[],
            n_runs=0,
            results=[],
            conflicting_seeds=[],
            pooled={},
        )
        .on_conflict_do_nothing()
    )
    session.execute(select(Entry.fingerprint).where(Entry.fingerprint == experiment.fingerprint).with_for_update())


def _pool(evidence: Evidence, task: Benchmark) -> Pooled:
    return pool(evidence.results, task.metrics, task.test_items)


def _store(session: Session, experiment: Experiment, evidence: Evidence) -> None:
    newest = (
        select(Experiment.id)
        .where(Experiment.fingerprint == experiment.fingerprint)
        .order_by(Experiment.id.desc())
        .limit(MAX_EXPERIMENTS)
    )
    session.execute(
        update(Entry)
        .where(Entry.fingerprint == experiment.fingerprint)
        .values(
            experiments=list(session.scalars(newest)),
            n_runs=evidence.n_runs,
            results=[asdict(result) for result in evidence.results],
            conflicting_seeds=list(evidence.conflicting_seeds),
            pooled=asdict(_pool(evidence, cast(TrainingSpec, parse(experiment.spec)).task)),
        )
    )

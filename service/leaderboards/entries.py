"""Keep the stored entries up to date with the runs."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, delete, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.own_code import tags_of
from normcore.problem import problem_of
from normcore.spec import ExperimentSpec, TrainingSpec, changes, parse
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from service.experiments import codes
from service.experiments.machines import hardware, machine
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run
from service.leaderboards.codes import PartCodes
from service.leaderboards.entry import EntryStatistics, RunResult, SucceededRuns, pool
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.tables import Entry

log = logging.getLogger(__name__)

MAX_EXPERIMENTS = 20
_unreadable = set[str]()  # fingerprints that were logged already


def add(session: Session, run_id: str) -> None:
    """Count a run that has succeeded. Call this once, in the transaction that ends the run.

    An entry stores the runs of one code: the code of the run that started last. A run of older code only adds to
    ``n_older``. The first run of newer code sets the other runs aside. If this process cannot read the spec, because
    options were edited since the process started, the entry is deleted and left to the scheduler.
    """
    run, experiment = session.execute(_select_succeeded().where(Run.id == run_id)).one()
    try:
        _lock(session, experiment)
    except ValueError as error:
        log.warning("no entry for %s, whose spec cannot be read here: %s", experiment.id, error)
        session.execute(delete(Entry).where(Entry.fingerprint == experiment.fingerprint))
        return
    columns = (Entry.code, Entry.code_at, Entry.n_runs, Entry.n_older, Entry.results, Entry.conflicting_seeds)
    known = session.execute(select(*columns).where(Entry.fingerprint == experiment.fingerprint)).one()
    started = codes.find_start(run)
    is_newer = known.code_at is None or started >= known.code_at
    if known.n_runs == 0 or (run.code != known.code and is_newer):
        refresh(session, experiment.fingerprint)
    elif run.code != known.code:
        own = Entry.fingerprint == experiment.fingerprint
        session.execute(update(Entry).where(own).values(n_older=known.n_older + 1))
    else:
        results = [RunResult(**stored) for stored in known.results]
        evidence = SucceededRuns(known.n_runs, results, known.conflicting_seeds).and_also(_result(run, experiment))
        present = Present(run, max(started, known.code_at or started), evidence, known.n_older)
        _store(session, experiment, present)


def refresh(session: Session, fingerprint: str) -> None:
    """Pool again all succeeded trainings of a fingerprint."""
    of_fingerprint = _select_succeeded().where(Experiment.fingerprint == fingerprint).order_by(Run.finished_at, Run.id)
    _lock(session, session.execute(of_fingerprint.limit(1)).one()[1])  # before runs are read: one may end meanwhile
    rows = session.execute(of_fingerprint).all()
    _store(session, rows[-1][1], present_of(rows))


class Present(NamedTuple):
    """Present state of an entry.

    Attributes:
        run: one of the entry's runs; all of these have the same code.
        code_at: time when the last of these runs started.
        evidence: evidence of these runs, one result for each seed.
        n_older: number of succeeded runs of other code.
    """

    run: Run
    code_at: datetime
    evidence: SucceededRuns
    n_older: int


def present_of(rows: Sequence[tuple[Run, Experiment]]) -> Present:
    """Pool the runs that have the code of the run that started last.

    Args:
        rows: all succeeded runs of one fingerprint, in the order in which they ended.
    """
    runs = codes.choose_counting_runs([run for run, _ in rows], present=None)
    of_code = [row for row in rows if row[0].code == runs[0].code]
    newest = max(runs, key=codes.find_start)
    return Present(newest, codes.find_start(newest), evidence_of(of_code), len(rows) - len(of_code))


def row_of(rows: Sequence[tuple[Run, Experiment]]) -> MeasuredEntry:
    """Make an entry of the succeeded runs of one fingerprint, in the order in which they ended. Nothing is stored."""
    present = present_of(rows)
    evidence, pooled = present.evidence, [row for row in rows if row[0].code == present.run.code]
    _, experiment = pooled[-1]
    spec = cast(TrainingSpec, parse(experiment.spec))
    return MeasuredEntry(
        fingerprint=experiment.fingerprint,
        setting=experiment.setting,
        task=experiment.task,
        method=cast(str, experiment.method),
        budget=cast(int, experiment.budget),
        changes=changes(spec),
        experiments=sorted({experiment.id for _, experiment in pooled}, reverse=True)[:MAX_EXPERIMENTS],
        code=present.run.code,
        n_runs=evidence.n_runs,
        n_older=present.n_older,
        results=evidence.results,
        conflicting_seeds=list(evidence.conflicting_seeds),
        pooled=_pool(evidence, spec.task),
        parts=_parts(spec, present.run),
        code_at=present.code_at,
    )


def _parts(spec: ExperimentSpec, run: Run) -> PartCodes:
    told = ((run.environment or {}).get("code") or {}).get("parts", {})
    return {part: [tag, told.get(part)] for part, tag in tags_of(spec).items()}


def rows_of_codes(session: Session, fingerprints: Collection[str], *which: ColumnElement[bool]) -> list[MeasuredEntry]:
    """Pool the succeeded runs of these fingerprints, one row for each fingerprint and code. Nothing is stored.

    Args:
        which: more conditions on the runs.
    """
    runs = _select_succeeded().where(Experiment.fingerprint.in_(fingerprints), *which)
    of_codes: dict[tuple[str, str | None], list[tuple[Run, Experiment]]] = {}
    for run, experiment in session.execute(runs.order_by(Run.finished_at, Run.id)).all():
        of_codes.setdefault((experiment.fingerprint, run.code), []).append((run, experiment))
    return [row_of(rows) for rows in of_codes.values()]


def refresh_missing(session: Session) -> None:
    """Make the missing entry of every fingerprint that has results but no entry. This happens after a migration that
    changed entries, or if the worker of a run could not read the spec.

    A spec that cannot be read, for example without its plug-in, stays off the boards until it can be read.
    """
    some = exists().where(Run.experiment_id == Experiment.id, HAS_SUCCEEDED)
    of_trainings = select(Experiment.fingerprint).where(Experiment.problem.is_not(None), some)
    missing = of_trainings.where(Experiment.fingerprint.not_in(select(Entry.fingerprint))).distinct()
    for fingerprint in session.scalars(missing).all():
        try:
            refresh(session, fingerprint)
        except ValueError as error:
            if fingerprint not in _unreadable:
                log.warning("no entry for fingerprint %s, whose spec cannot be read: %s", fingerprint[:12], error)
            _unreadable.add(fingerprint)


def evidence_of(rows: Iterable[tuple[Run, Experiment]]) -> SucceededRuns:
    """Collect the evidence of one fingerprint from its succeeded runs, in the order in which they ended."""
    evidence = SucceededRuns()
    for run, experiment in rows:
        evidence = evidence.and_also(_result(run, experiment))
    return evidence


def _select_succeeded() -> Select[Run, Experiment]:
    rows = select(Run, Experiment).join(Experiment).where(HAS_SUCCEEDED)
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
    """Tell if a run reached its board's target, and at which step and second; None if the run did not have this target.

    A run that missed the target has the time of its last evaluation below the target. A run that diverged has the end
    of its budget, because to diverge is not to withdraw.
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
    """Create the entry's row if it is missing, and lock it until the commit, so that two runs that end together both
    count.
    """
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


def _pool(evidence: SucceededRuns, task: Benchmark) -> EntryStatistics:
    return pool(evidence.results, task.metrics, task.test_items)


def _experiments(session: Session, fingerprint: str, code: str | None) -> list[str]:
    """Ids of a fingerprint's newest experiments, without experiments that have only succeeded runs of other code."""
    counts = or_(Run.state != "succeeded", Run.code.is_not_distinct_from(code))
    some = exists().where(Run.experiment_id == Experiment.id, counts)
    newest = select(Experiment.id).where(Experiment.fingerprint == fingerprint, some).order_by(Experiment.id.desc())
    return list(session.scalars(newest.limit(MAX_EXPERIMENTS)))


def _store(session: Session, experiment: Experiment, present: Present) -> None:
    evidence, spec = present.evidence, cast(TrainingSpec, parse(experiment.spec))
    session.execute(
        update(Entry)
        .where(Entry.fingerprint == experiment.fingerprint)
        .values(
            experiments=_experiments(session, experiment.fingerprint, present.run.code),
            code=present.run.code,
            code_at=present.code_at,
            parts=_parts(spec, present.run),
            n_runs=evidence.n_runs,
            n_older=present.n_older,
            results=[asdict(result) for result in evidence.results],
            conflicting_seeds=list(evidence.conflicting_seeds),
            pooled=asdict(_pool(evidence, spec.task)),
        )
    )

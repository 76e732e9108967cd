"""Reads of submitted results, each compared with the runs of this service."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Row, Select, func, or_, select
from sqlalchemy.orm import Session

from normcore.problem import test_items
from normcore.spec.tasks import BENCHMARKS
from service.errors import NotFound
from service.experiments.queries import AFTER_HEX
from service.leaderboards.entry import Estimate, RunResult, estimate, no_skill_of
from service.leaderboards.submitted_results import schemas
from service.leaderboards.submitted_results.tables import SubmittedResult
from service.leaderboards.tables import Entry
from service.statistics.agreement import Agreement, agreement
from service.statistics.values import Limits, Value, value, worth

AT_ONCE = 200  # rows that are read in one go


def result(session: Session, result_id: str) -> schemas.ResultOut:
    """Read a submitted result.

    Raises:
        NotFound: there is no such result.
    """
    found = session.execute(_with_entries().where(SubmittedResult.id == result_id)).one_or_none()
    if found is None:
        raise NotFound(f"no result {result_id!r}")
    return _describe_result(*found)


def results(
    session: Session,
    *,
    fingerprint: str | None,
    state: schemas.State | None,
    before: str | None,
    limit: int,
    **columns: str | None,
) -> list[schemas.ResultOut]:
    """Results, newest first.

    Args:
        fingerprint: what the fingerprint begins with.
        before: list only results with a smaller id, as the page after this id does.
        columns: exact values of columns of ``SubmittedResult``; None for any value.
    """
    query = _with_entries().order_by(SubmittedResult.id.desc()).execution_options(yield_per=AT_ONCE)
    for name, wanted in columns.items():
        query = query if wanted is None else query.where(getattr(SubmittedResult, name) == wanted)
    if fingerprint is not None:
        query = query.where(SubmittedResult.fingerprint.between(fingerprint, fingerprint + AFTER_HEX))
    if before is not None:
        query = query.where(SubmittedResult.id < before)
    shown = (_describe_result(row, measured) for row, measured in session.execute(query))
    return list(islice((one for one in shown if state is None or one.state == state), limit))


def _with_entries() -> Select[SubmittedResult, list[dict[str, Any]]]:
    """Select results of the tasks that are installed."""
    rows = select(SubmittedResult, Entry.results).where(SubmittedResult.task.in_(BENCHMARKS))
    return rows.outerjoin(Entry, Entry.fingerprint == SubmittedResult.fingerprint)


def on_board(session: Session, task: str, profile: str, problem: str, moment: datetime | None) -> list[SubmittedResult]:
    """Results that a board shows, the oldest first.

    Args:
        moment: the moment at which the board is shown; None for now.
    """
    row = SubmittedResult
    query = select(row).where(row.task == task, row.profile == profile, row.problem == problem).order_by(row.id)
    if moment is None:
        return list(session.scalars(query.where(row.withdrawn_at.is_(None))))
    there = (row.created_at <= moment, or_(row.withdrawn_at.is_(None), row.withdrawn_at > moment))
    return list(session.scalars(query.where(*there)))


def counts(session: Session) -> Sequence[Row[str, str, str, dict[str, Any], int]]:
    """Count the results on each board, without withdrawn ones: task, profile, problem, options, number of results."""
    row = SubmittedResult
    return session.execute(
        select(row.task, row.profile, row.problem, row.options, func.count())
        .where(row.withdrawn_at.is_(None))
        .group_by(row.task, row.profile, row.problem, row.options)
    ).all()


def problems(session: Session, task: str, profile: str) -> dict[str, Mapping[str, Any]]:
    """Ids of the problems that have results on a board, with their options."""
    row = SubmittedResult
    query = select(row.problem, row.options).where(row.task == task, row.profile == profile, row.withdrawn_at.is_(None))
    return {found.problem: found.options for found in session.execute(query)}


def version(session: Session, task: str, profile: str) -> tuple[int, int]:
    """Version of the results on a task's boards at this profile. It changes with each result that is submitted or
    withdrawn.
    """
    row = SubmittedResult
    counts = select(func.count(), func.count(row.withdrawn_at)).where(row.task == task, row.profile == profile)
    n_results, n_withdrawn = session.execute(counts).one()
    return n_results, n_withdrawn


def judge_result(row: SubmittedResult, measured: Sequence[RunResult]) -> Agreement:
    """Compare a submitted result with the measured runs of its fingerprint. As in a score, no seed
    counts as worse than no skill."""
    direction, no_skill = BENCHMARKS[row.task].metric().direction, no_skill_of(measured)
    claimed = {seed: worth(value, direction, no_skill) for seed, value in seeds_of(row).items()}
    own = {run.seed: run.worth(direction) for run in measured}
    return agreement(claimed, {seed: value for seed, value in own.items() if value is not None}, _limits(row))


def seeds_of(row: SubmittedResult) -> dict[int, float]:
    """Values of a submitted result, by seed."""
    return {one["seed"]: one["value"] for one in row.values}


def estimate_of(row: SubmittedResult) -> Estimate:
    """Pool the values of a submitted result, as measured values are pooled."""
    pooled = estimate(value_of(row, None))
    assert pooled is not None, "there is a value at least"
    return pooled


def value_of(row: SubmittedResult, no_skill: float | None) -> Value:
    """Statistics of the result's values.

    Args:
        no_skill: value of a model that ignores its input; None if no run of this service has recorded it.
    """
    values, direction = list(seeds_of(row).values()), BENCHMARKS[row.task].metric().direction
    return value(values, 0, direction, no_skill, _limits(row))


def _limits(row: SubmittedResult) -> Limits:
    return Limits.of(BENCHMARKS[row.task].metric(), test_items(row.task, row.options))


def _describe_result(row: SubmittedResult, measured: list[dict[str, Any]] | None) -> schemas.ResultOut:
    found = judge_result(row, [RunResult(**stored) for stored in measured or ()])
    return schemas.ResultOut(
        id=row.id,
        fingerprint=row.fingerprint,
        state="withdrawn" if row.withdrawn_at is not None else found.verdict,
        problem=row.problem,
        budget=row.budget,
        metric=BENCHMARKS[row.task].metric().name,
        spec=row.spec,
        values=[schemas.SeedValue(**one) for one in row.values],
        value=estimate_of(row),
        fresh_seeds=list(found.fresh),
        difference=_difference(found),
        provenance=schemas.Provenance.of(row.provenance),
        created_at=row.created_at,
        withdrawn_at=row.withdrawn_at,
    )


def _difference(found: Agreement) -> schemas.DifferenceOut | None:
    if found.difference is None:
        return None
    mean, ci95, p_value, _ = found.difference
    return schemas.DifferenceOut(mean=mean, ci95=ci95, p_value=p_value)

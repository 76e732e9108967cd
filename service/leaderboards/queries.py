"""Read entries and rank them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS, Published
from normcore.spec.tasks.benchmark import Benchmark
from service.db import rows_of
from service.leaderboards import schemas, tables
from service.leaderboards.ranking import Center, RankBy, Speedup, TimeToTarget, ranks, ratio


def leaderboards(session: Session) -> list[schemas.LeaderboardSummary]:
    """Tasks and profiles that have entries."""
    entry = tables.Entry
    rows = session.execute(
        select(entry.task, entry.profile, func.count(), func.sum(entry.n_runs))
        .group_by(entry.task, entry.profile)
        .order_by(entry.task, entry.profile)
    )
    return [
        schemas.LeaderboardSummary(task=task, profile=profile, n_entries=n, n_runs=runs)
        for task, profile, n, runs in rows
    ]


def leaderboard(
    session: Session, task: str, profile: ProfileName, *, rank_by: RankBy, baseline: str, published: bool
) -> schemas.Leaderboard:
    """All entries of a known benchmark at one profile, best first."""
    known = BENCHMARKS[task]
    columns = rows_of(tables.Entry).c
    rows = session.execute(select(*columns).where(columns.task == task, columns.profile == profile)).all()
    baselines = _baselines(rows, baseline, known)
    entries = [_measured(row, baseline, baselines.get(row.setting)) for row in rows]
    if published and profile == "paper":
        entries += map(_published, known.published)
    direction = known.metric.direction if rank_by == "metric" else "minimize"
    for entry, rank in zip(entries, ranks([_center(e, rank_by) for e in entries], direction), strict=True):
        entry.rank = rank
    return schemas.Leaderboard(
        task=task,
        profile=profile,
        metric=known.metric.name,
        unit=known.metric.unit,
        direction=known.metric.direction,
        target=known.profiles[profile].training["target"],
        rank_by=rank_by,
        baseline=baseline,
        entries=sorted(entries, key=lambda e: (e.rank, e.method, e.fingerprint or "")),
    )


def _baselines(rows: Sequence[Row[Any]], method: str, task: type[Benchmark]) -> dict[str, Row[Any]]:
    """For each setting (a spec less its norm) the best entry of the baseline method."""
    best: dict[str, Row[Any]] = {}
    for row in rows:
        if row.method == method and row.mean is not None:
            known = best.get(row.setting)
            if known is None or task.metric.is_better(row.mean, than=known.mean):
                best[row.setting] = row
    return best


def _measured(row: Row[Any], baseline: str, against: Row[Any] | None) -> schemas.Entry:
    speedup = against and Speedup(
        baseline=baseline,
        steps=ratio(against.steps_median, row.steps_median),
        seconds=ratio(against.seconds_median, row.seconds_median),
    )
    interval = None if row.ci_low is None else (row.ci_low, row.ci_high)
    return schemas.Entry(
        method=row.method,
        source="measured",
        fingerprint=row.fingerprint,
        changes=row.changes,
        n_runs=row.n_runs,
        n_seeds=row.n_seeds,
        n_diverged=row.n_diverged,
        value=None if row.mean is None else Center(row.mean, row.std, interval),
        steps_to_target=TimeToTarget(row.steps_median, row.steps_reached),
        seconds_to_target=TimeToTarget(row.seconds_median, row.seconds_reached),
        speedup=speedup,
        experiments=row.experiments,
    )


def _published(published: Published) -> schemas.Entry:
    value = Center(published.value, None, None)
    return schemas.Entry(method=published.method, source="published", citation=published.citation, value=value)


def _center(entry: schemas.Entry, rank_by: RankBy) -> float | None:
    if rank_by == "metric":
        return entry.value.mean if entry.value else None
    time = entry.steps_to_target if rank_by == "steps_to_target" else entry.seconds_to_target
    return time.median if time else None

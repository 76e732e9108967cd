"""Read entries and rank them."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.spec.tasks import TASKS, ProfileName
from normcore.spec.tasks.task import Task
from service.leaderboards import schemas, tables
from service.leaderboards.ranking import RankBy, ranks, ratio


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
    """All entries of a known task at one profile, best first."""
    known = TASKS[task]
    stored = tables.Entry
    rows = session.scalars(select(stored).where(stored.task == task, stored.profile == profile)).all()
    baselines = _baselines(rows, baseline, known)
    entries = [_measured(row, baseline, baselines.get(row.setting)) for row in rows]
    if published and profile == "paper":
        entries += [_published(p.method, p.value, p.citation) for p in known.published]
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


def _baselines(rows: Sequence[tables.Entry], method: str, task: type[Task]) -> dict[str, tables.Entry]:
    """For each setting (a spec less its norm) the best entry of the baseline method."""
    best: dict[str, tables.Entry] = {}
    for row in rows:
        if row.method == method and row.mean is not None:
            known = best.get(row.setting)
            if known is None or known.mean is None or task.metric.is_better(row.mean, than=known.mean):
                best[row.setting] = row
    return best


def _measured(row: tables.Entry, baseline: str, against: tables.Entry | None) -> schemas.Entry:
    interval = (row.ci_low, row.ci_high) if row.ci_low is not None and row.ci_high is not None else None
    speedup = against and schemas.Speedup(
        baseline=baseline,
        steps=ratio(against.steps_median, row.steps_median),
        seconds=ratio(against.seconds_median, row.seconds_median),
    )
    return schemas.Entry(
        rank=0,
        method=row.method,
        source="measured",
        fingerprint=row.fingerprint,
        changes=row.changes,
        n_runs=row.n_runs,
        n_seeds=row.n_seeds,
        n_diverged=row.n_diverged,
        value=None if row.mean is None else schemas.Value(mean=row.mean, std=row.std, ci95=interval),
        steps_to_target=schemas.TimeToTarget(median=row.steps_median, reached=row.steps_reached),
        seconds_to_target=schemas.TimeToTarget(median=row.seconds_median, reached=row.seconds_reached),
        speedup=speedup,
        experiments=row.experiments,
    )


def _published(method: str, value: float, citation: str) -> schemas.Entry:
    return schemas.Entry(rank=0, method=method, source="published", citation=citation, value=schemas.Value(mean=value))


def _center(entry: schemas.Entry, rank_by: RankBy) -> float | None:
    if rank_by == "metric":
        return entry.value.mean if entry.value else None
    time = entry.steps_to_target if rank_by == "steps_to_target" else entry.seconds_to_target
    return time.median if time else None

"""Read entries and rank them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import func, null, select
from sqlalchemy.orm import Session

from normcore.problem import Problem, note, own_budget, own_problem, title
from normcore.spec import SpecError
from normcore.spec.messages import choose, quoted
from normcore.spec.metric import Metric
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.db import rows_of
from service.errors import Invalid
from service.leaderboards import schemas, tables
from service.leaderboards.published import published_entries
from service.leaderboards.ranking import MIXED, Center, RankBy, Speedup, TimeToTarget, ranks, ratio


class _Row(NamedTuple):
    """The columns of an entry that a board needs.

    Looking names up in SQLAlchemy's rows took a third of the time of a board of a thousand entries.
    """

    fingerprint: str
    setting: str
    method: str
    budget: int
    changes: dict[str, Any]
    kernel: str | None
    experiments: list[str]
    values: dict[str, Any] | None
    n_runs: int
    n_seeds: int
    n_diverged: int
    mean: float | None
    std: float | None
    ci_low: float | None
    ci_high: float | None
    steps_median: float | None
    steps_reached: int
    seconds_median: float | None
    seconds_reached: int


def leaderboards(session: Session) -> list[schemas.LeaderboardSummary]:
    """Tasks, profiles and problems that have entries."""
    entry = tables.Entry
    rows = session.execute(
        select(entry.task, entry.profile, entry.problem, entry.options, func.count(), func.sum(entry.n_runs))
        .group_by(entry.task, entry.profile, entry.problem, entry.options)
        .order_by(entry.task, entry.profile, entry.problem)
    )
    boards: dict[tuple[str, str, str], schemas.LeaderboardSummary] = {}
    for task, profile, id, options, n_entries, n_runs in rows:  # a problem's once more if an option was added since
        if task in BENCHMARKS:
            problem = _problem(task, profile, id, options)
            empty = schemas.LeaderboardSummary(task=task, profile=profile, problem=problem, n_entries=0, n_runs=0)
            board = boards.setdefault((task, profile, id), empty)
            board.n_entries += n_entries
            board.n_runs += n_runs
    return list(boards.values())


def leaderboard(
    session: Session,
    task: str,
    profile: ProfileName,
    *,
    problem: str | None = None,
    rank_by: RankBy = "metric",
    baseline: str = "none",
    with_published: bool = False,
    rank_over_budget: bool = False,
) -> schemas.Leaderboard:
    """All entries of one problem of a known benchmark at one profile, best first.

    Args:
        problem: its id; the profile's own if None.

    Raises:
        Invalid: there is no such problem on this board.
    """
    metric, budget = BENCHMARKS[task].metric(), own_budget(task, profile)
    problems = _problems(session, task, profile)
    chosen = _chosen(problems, problem)
    rows = _rows(session, task, profile, chosen.id)
    baselines = _baselines(rows, baseline, metric)
    entries = [_measured(row, metric, baseline, baselines.get(row.setting), row.budget > budget) for row in rows]
    if with_published and profile == "paper":
        entries += published_entries(task, chosen.id, metric)
    _rank(entries, rank_by, metric.direction if rank_by == "metric" else "minimize", rank_over_budget)
    return schemas.Leaderboard(
        task=task,
        profile=profile,
        problem=chosen,
        problems=problems,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        target=BENCHMARKS[task].profiles[profile].training["target"],
        budget=budget,
        rank_by=rank_by,
        baseline=baseline,
        entries=sorted(entries, key=lambda entry: _place(entry, metric)),
    )


def _rows(session: Session, task: str, profile: ProfileName, problem: str) -> list[_Row]:
    columns = rows_of(tables.Entry).c
    one_metric = len(BENCHMARKS[task].metrics) == 1  # whose values the other columns hold
    read = [null() if name == "values" and one_metric else columns[name] for name in _Row._fields]
    here = (columns.task == task, columns.profile == profile, columns.problem == problem)
    return [_Row._make(row) for row in session.execute(select(*read).where(*here))]


def _problems(session: Session, task: str, profile: ProfileName) -> list[schemas.Problem]:
    """The profile's own problem, and all others that have entries."""
    own, entry = own_problem(task, profile), tables.Entry
    here = (entry.task == task, entry.profile == profile)
    others = set(session.scalars(select(entry.problem).where(*here).distinct())) - {own.id}  # which the index holds
    options = {
        id: session.scalars(select(entry.options).where(*here, entry.problem == id).limit(1)).one()
        for id in sorted(others)
    }
    return [_problem(task, profile, id, given) for id, given in ((own.id, own.options), *options.items())]


def _problem(task: str, profile: str, id: str, options: Mapping[str, Any]) -> schemas.Problem:
    own: Problem = own_problem(task, cast(ProfileName, profile))
    named = title(options, own) if id == own.id or options != own.options else f"other data ({id})"
    return schemas.Problem(id=id, title=named, options=dict(options), note=note(task, options))


def _chosen(problems: Sequence[schemas.Problem], id: str | None) -> schemas.Problem:
    if id is None:
        return problems[0]
    for problem in problems:
        if problem.id == id:
            return problem
    wrong = f"this board has no {quoted(id)}; {choose(id, [problem.id for problem in problems])}"
    raise Invalid([SpecError(("problem",), wrong, "unknown_problem")])


def _rank(entries: Sequence[schemas.Entry], rank_by: RankBy, direction: Any, rank_over_budget: bool) -> None:
    """Rank the measured entries within the budget, and all others among them."""
    counts = [entry.source == "measured" and not entry.over_budget for entry in entries]
    found = ranks([_center(entry, rank_by) for entry in entries], counts, direction)
    for entry, rank in zip(entries, found, strict=True):
        of_paper_alone = entry.source == "published" and entry.value is None
        entry.rank = None if of_paper_alone or (entry.over_budget and not rank_over_budget) else rank


def _baselines(rows: Sequence[_Row], method: str, metric: Metric) -> dict[str, _Row]:
    """For each setting (a spec less its norm) the best entry of the baseline method."""
    best: dict[str, _Row] = {}
    means: dict[str, float] = {}
    for row in rows:
        if row.method == method and row.mean is not None:
            known = means.get(row.setting)
            if known is None or metric.is_better(row.mean, than=known):
                best[row.setting], means[row.setting] = row, row.mean
    return best


def _measured(row: _Row, metric: Metric, baseline: str, against: _Row | None, over_budget: bool) -> schemas.Entry:
    speedup = against and Speedup(
        baseline=baseline,
        steps=ratio(against.steps_median, row.steps_median),
        seconds=ratio(against.seconds_median, row.seconds_median) if against.kernel == row.kernel != MIXED else None,
    )
    interval = None if row.ci_low is None or row.ci_high is None else (row.ci_low, row.ci_high)
    value = None if row.mean is None else Center(row.mean, row.std, interval)
    others = {name: _stored(pooled) for name, pooled in row.values.items()} if row.values else {}
    return schemas.Entry(
        method=row.method,
        source="measured",
        fingerprint=row.fingerprint,
        budget=row.budget,
        over_budget=over_budget,
        changes=row.changes,
        kernel=row.kernel,
        n_runs=row.n_runs,
        n_seeds=row.n_seeds,
        n_diverged=row.n_diverged,
        value=value,
        values={metric.name: value} | others if value else others,
        steps_to_target=TimeToTarget(row.steps_median, row.steps_reached),
        seconds_to_target=TimeToTarget(row.seconds_median, row.seconds_reached),
        speedup=speedup,
        experiments=row.experiments,
    )


def _stored(center: Mapping[str, Any]) -> Center:
    low_and_high = center["ci95"]  # which JSON has as a list
    return Center(center["mean"], center["std"], low_and_high and tuple(low_and_high))


def _place(entry: schemas.Entry, metric: Metric) -> tuple[Any, ...]:
    """By rank; those of no rank come last, and of one rank the better comes first."""
    sign = -1 if metric.direction == "maximize" else 1
    value = sign * entry.value.mean if entry.value else math.inf
    return (entry.rank is None, entry.rank or 0, value, entry.method or "", entry.fingerprint or "")


def _center(entry: schemas.Entry, rank_by: RankBy) -> float | None:
    if rank_by == "metric":
        return entry.value.mean if entry.value else None
    time = entry.steps_to_target if rank_by == "steps_to_target" else entry.seconds_to_target
    return time.median if time else None

"""Read entries and rank them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.problem import Problem, note, own_budget, own_problem, title
from normcore.spec import SpecError
from normcore.spec.messages import choose, quoted
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.db import rows_of
from service.errors import Invalid
from service.experiments.tables import Experiment, Run
from service.leaderboards import entries, schemas, tables
from service.leaderboards.board import Row, Rules, best_of_each_method, main_hardware, ranked
from service.leaderboards.pooling import RunResult, stored_pooled
from service.leaderboards.published import published_entries
from service.leaderboards.ranking import RankBy
from service.leaderboards.submitted import queries as submitted
from service.leaderboards.submitted.entries import submitted_entries

READ = [field.name for field in fields(Row)]


def leaderboards(session: Session) -> list[schemas.LeaderboardSummary]:
    """Tasks, profiles and problems that have entries, measured or claimed."""
    entry = tables.Entry
    rows = session.execute(
        select(entry.task, entry.profile, entry.problem, entry.options, func.count(), func.sum(entry.n_runs)).group_by(
            entry.task, entry.profile, entry.problem, entry.options
        )
    )
    boards: dict[tuple[str, str, str], schemas.LeaderboardSummary] = {}
    for task, profile, id, options, n_entries, n_runs in rows:  # a problem's once more if an option was added since
        if task in BENCHMARKS:
            board = boards.setdefault((task, profile, id), _without_entries(task, profile, id, options))
            board.n_entries += n_entries
            board.n_runs += n_runs
    for task, profile, id, options, n_claims in submitted.counts(session):
        if task in BENCHMARKS:
            board = boards.setdefault((task, profile, id), _without_entries(task, profile, id, options))
            board.n_claims += n_claims
    return [boards[place] for place in sorted(boards)]


def _without_entries(task: str, profile: str, id: str, options: Mapping[str, Any]) -> schemas.LeaderboardSummary:
    problem = shown_problem(task, profile, id, options)
    return schemas.LeaderboardSummary(task=task, profile=profile, problem=problem, n_entries=0, n_runs=0, n_claims=0)


def version(session: Session, task: str, profile: ProfileName) -> tuple[int, ...]:
    """Another one after each run and each result that is added to a task's boards at this profile, or withdrawn."""
    entry = tables.Entry
    counts = select(func.count(), func.coalesce(func.sum(entry.n_runs + entry.n_older), 0))
    n_entries, n_runs = session.execute(counts.where(entry.task == task, entry.profile == profile)).one()
    return n_entries, n_runs, *submitted.version(session, task, profile)


class Asked(NamedTuple):
    """Which board, and how.

    Attributes:
        problem: its id; the profile's own if None.
        baseline: the method that speed-ups are measured against.
        published: whether the papers' numbers are ranked among the measured ones.
        over_budget: whether entries are ranked that had more than the board's budget.
        best: one entry a method, chosen by validation.
        older: whether runs of older code are shown beside the entries that set them aside.
    """

    task: str
    profile: ProfileName
    problem: str | None = None
    rank_by: RankBy = "metric"
    baseline: str = "none"
    published: bool = False
    over_budget: bool = False
    best: bool = False
    older: bool = False


def leaderboard(session: Session, asked: Asked, as_of: datetime | None = None) -> schemas.Leaderboard:
    """All entries of one problem of a known benchmark at one profile, best first.

    Args:
        as_of: the moment whose board it is; now if None.

    Raises:
        Invalid: there is no such problem on this board.
    """
    task, profile = asked.task, asked.profile
    metric, budget = BENCHMARKS[task].metric(), own_budget(task, profile)
    problems = _problems(session, task, profile)
    chosen = _chosen(problems, asked.problem)
    here = (task, profile, chosen.id)
    rows = rows_of_board(session, *here) if as_of is None else _rows_as_of(session, *here, as_of)
    best = best_of_each_method(rows, metric, budget)
    shown = [row for row in rows if not asked.best or row.fingerprint in best]
    papers = published_entries(task, chosen.id, metric) if asked.published and profile == "paper" else []
    measured = {row.fingerprint: row.results for row in rows}
    claims = submitted_entries(submitted.on_board(session, *here, as_of), measured, metric.name, budget)
    rules = Rules(metric, budget, asked.rank_by, asked.baseline, asked.over_budget)
    older = entries.rows_of_older_code(session, *here) if asked.older and as_of is None else []
    found = ranked(shown, [*claims, *papers], rules, older)
    for entry in found if asked.best else ():
        entry.best_of = best.get(entry.fingerprint or "", 1) if entry.source == "measured" else 1
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
        hardware=main_hardware(shown),
        rank_by=asked.rank_by,
        baseline=asked.baseline,
        as_of=as_of,
        entries=found,
    )


def rows_of_board(session: Session, task: str, profile: str, problem: str) -> list[Row]:
    """All entries of a board before they are ranked. Core's rows: looking names up in SQLAlchemy's took a third of the
    time of a board of a thousand entries."""
    entry = rows_of(tables.Entry).c
    here = (entry.task == task, entry.profile == profile, entry.problem == problem)
    found = session.execute(select(*(entry[name] for name in READ)).where(*here).order_by(entry.fingerprint))
    return [_row(**dict(zip(READ, stored, strict=True))) for stored in found]


def row_of(entry: tables.Entry) -> Row:
    """What is stored of an entry."""
    return _row(**{name: getattr(entry, name) for name in READ})


def seeds_of(session: Session, fingerprints: Collection[str]) -> dict[str, list[RunResult]]:
    """The run of each seed that counts, of entries that are stored."""
    entry = rows_of(tables.Entry).c
    stored = session.execute(select(entry.fingerprint, entry.results).where(entry.fingerprint.in_(fingerprints)))
    return {fingerprint: [RunResult(**result) for result in results] for fingerprint, results in stored}


def _row(**stored: Any) -> Row:
    stored["results"] = [RunResult(**result) for result in stored["results"]]
    stored["pooled"] = stored_pooled(stored["pooled"])
    return Row(**stored)


def _rows_as_of(session: Session, task: str, profile: str, problem: str, moment: datetime) -> list[Row]:
    """As entries would have been stored then."""
    found = session.execute(
        select(Run, Experiment)
        .join(Experiment)
        .where(Experiment.task == task, Experiment.profile == profile, Experiment.problem == problem)
        .where(Run.state == "succeeded", Run.finished_at <= moment)
        .order_by(Experiment.fingerprint, Run.finished_at, Run.id)
    )
    of_fingerprints = groupby(((run, experiment) for run, experiment in found), key=lambda row: row[1].fingerprint)
    return [entries.row_of(list(rows)) for _, rows in of_fingerprints]


def _problems(session: Session, task: str, profile: ProfileName) -> list[schemas.Problem]:
    """The profile's own problem, and all others that have entries or submitted results."""
    own, entry = own_problem(task, profile), tables.Entry
    here = (entry.task == task, entry.profile == profile)
    others = set(session.scalars(select(entry.problem).where(*here).distinct())) - {own.id}  # which the index holds
    options = {
        id: session.scalars(select(entry.options).where(*here, entry.problem == id).limit(1)).one()
        for id in sorted(others)
    }
    options = {**submitted.problems(session, task, profile), **options, own.id: own.options}
    ids = [own.id, *sorted(options.keys() - {own.id})]
    return [shown_problem(task, profile, id, options[id]) for id in ids]


def shown_problem(task: str, profile: str, id: str, options: Mapping[str, Any]) -> schemas.Problem:
    """A problem with its title and what there is to know of it."""
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

"""Read entries and rank them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from normcore.problem import Problem, note, own_budget, own_problem, title
from normcore.spec import SpecError
from normcore.spec.messages import choose, quote_value
from normcore.spec.metric import Metric
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.db import rows_of as table_of
from service.errors import Invalid
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run
from service.leaderboards import entries, schemas, tables
from service.leaderboards.codes import (
    PRESENT,
    Digests,
    PartCodes,
    code_of,
    describe_older,
    differing_parts,
    older_parts,
    present_parts,
)
from service.leaderboards.entry import RunResult, read_pooled
from service.leaderboards.papers import published_entries
from service.leaderboards.ranked_board import (
    Candidate,
    Older,
    Rules,
    best_of_each_method,
    hardware_of_most_entries,
    rank_entries,
)
from service.leaderboards.ranking import RankBy
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.submitted_results import queries as submitted
from service.leaderboards.submitted_results.entries import submitted_entries
from service.leaderboards.submitted_results.tables import SubmittedResult
from service.leaderboards.verdicts import Seeds, verdict
from service.sized_cache import SizedCache, shared_cache

READ = [field.name for field in fields(MeasuredEntry)]
BOARDS, MOST_ENTRIES = "boards", 10_000  # cache of boards: its name, and the entries that all of its boards have
WITH_PAPERS: ProfileName = "paper"  # the profile whose boards have papers' numbers


def leaderboards(session: Session) -> list[schemas.LeaderboardSummary]:
    """List the boards (task, profile, problem) that have entries, measured or claimed."""
    entry = tables.Entry
    rows = session.execute(
        select(entry.task, entry.profile, entry.problem, entry.options, func.count(), func.sum(entry.n_runs)).group_by(
            entry.task, entry.profile, entry.problem, entry.options
        )
    )
    boards: dict[tuple[str, str, str], schemas.LeaderboardSummary] = {}
    # a problem can fill two rows, because older entries lack newer options
    for task, profile, id, options, n_entries, n_runs in rows:
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


def version(session: Session, task: str, profile: ProfileName) -> tuple[int | str, ...]:
    """Version of a task's boards at this profile. It changes with each edit of the code, and with each run or submitted
    result that one of these boards gets or loses.
    """
    entry = tables.Entry
    counts = select(func.count(), func.coalesce(func.sum(entry.n_runs + entry.n_older), 0))
    n_entries, n_runs = session.execute(counts.where(entry.task == task, entry.profile == profile)).one()
    return n_entries, n_runs, PRESENT.version(), *submitted.version(session, task, profile)


class BoardRequest(NamedTuple):
    """Request for a board.

    Attributes:
        problem: id of the problem; None for the profile's own.
        baseline: the method that speed-ups are measured against.
        published: whether the papers' numbers are ranked among the measured ones.
        over_budget: whether entries that had more than the board's budget are ranked.
        best: whether only one entry of each method is shown, chosen by validation.
        older: whether entries of older code are shown, too.
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


class RankedBoard(NamedTuple):
    """A board, and the runs that count of its measured entries, by fingerprint."""

    board: schemas.Leaderboard
    seeds: Seeds


def leaderboard(session: Session, asked: BoardRequest, as_of: datetime | None = None) -> schemas.Leaderboard:
    """Make the board of one problem of a known benchmark at one profile, best entry first. Callers share the board, and
    must not change it.

    Args:
        as_of: the moment at which the board is shown; None for now.

    Raises:
        Invalid: there is no such problem on this board.
    """
    return leaderboard_and_seeds(session, asked, as_of).board


def leaderboard_and_seeds(session: Session, asked: BoardRequest, as_of: datetime | None = None) -> RankedBoard:
    """Make a board as ``leaderboard`` does, with the runs behind its entries."""
    if as_of is not None:
        return _make_board(session, asked, as_of)
    task, profile = asked.task, asked.profile
    is_own = asked.problem == own_problem(task, profile).id
    alike = asked._replace(
        problem=None if is_own else asked.problem, published=asked.published and profile == WITH_PAPERS
    )
    known: SizedCache[RankedBoard] = shared_cache(session, BOARDS, MOST_ENTRIES)
    return known.get(
        alike,
        version(session, task, profile),
        lambda: _make_board(session, alike),
        lambda made: len(made.board.entries),
    )


def _make_board(session: Session, asked: BoardRequest, as_of: datetime | None = None) -> RankedBoard:
    task, profile = asked.task, asked.profile
    metric, budget = BENCHMARKS[task].metric(), own_budget(task, profile)
    problems = _problems(session, task, profile)
    chosen = _choose_problem(problems, asked.problem)
    here = (task, profile, chosen.id)
    claimed = submitted.on_board(session, *here, as_of)
    few = _read_best(session, here, metric, budget) if _is_best_enough(asked, as_of, claimed) else None
    read = few or _read_all(session, here, metric, budget, as_of)
    shown = [row for row in read.rows if not asked.best or row.fingerprint in read.best]
    papers = published_entries(task, chosen.id, metric) if asked.published and profile == WITH_PAPERS else []
    measured = {row.fingerprint: row.results for row in (*read.rows, *(older.row for older in read.older))}
    claims = submitted_entries(claimed, measured, metric.name, budget)
    rules = Rules(metric, budget, asked.rank_by, asked.baseline, asked.over_budget)
    aside = [*read.rows, *(older.row for older in read.older)]
    older = [*read.older, *_of_other_code(session, aside)] if asked.older else []
    found = rank_entries(shown, [*claims, *papers], rules, older)
    for entry in found if asked.best else ():
        entry.best_of = read.best.get(entry.fingerprint or "", 1) if entry.source == "measured" else 1
    board = schemas.Leaderboard(
        task=task,
        profile=profile,
        problem=chosen,
        problems=problems,
        metric=metric.name,
        unit=metric.unit,
        direction=metric.direction,
        target=BENCHMARKS[task].profiles[profile].training["target"],
        budget=budget,
        hardware=hardware_of_most_entries(shown),
        rank_by=asked.rank_by,
        baseline=asked.baseline,
        as_of=as_of,
        entries=found,
        set_aside=_describe_set_aside(read.older_parts),
    )
    board.verdict = verdict(board, measured)
    return RankedBoard(board, measured)


def _is_best_enough(asked: BoardRequest, as_of: datetime | None, claimed: Sequence[SubmittedResult]) -> bool:
    """Tell if a board needs only the best entry of each method. Claims are compared with all entries."""
    return asked.best and as_of is None and not asked.older and not claimed


class _Read(NamedTuple):
    """Entries of a board as they were read.

    Attributes:
        older: entries that the board sets aside; empty if only the best entries were read.
        older_parts: the older parts of each entry that the board sets aside.
        best: for the best entry of each method, the number of entries among which it was chosen.
    """

    rows: Sequence[MeasuredEntry]
    older: Sequence[Older]
    older_parts: Sequence[Sequence[str]]
    best: Mapping[str, int]


def _read_all(
    session: Session, here: tuple[str, str, str], metric: Metric, budget: int, as_of: datetime | None
) -> _Read:
    rows, older = rows_of_board(session, *here) if as_of is None else _rows_as_of(session, *here, as_of)
    candidates = (Candidate(row.fingerprint, row.method, row.budget, row.pooled.valid_value) for row in rows)
    return _Read(rows, older, [one.parts for one in older], best_of_each_method(candidates, metric, budget))


def _read_best(session: Session, here: tuple[str, str, str], metric: Metric, budget: int) -> _Read | None:
    """Read only the best entry of each method in full, because the results of all entries take long to read.

    Returns:
        None if code was edited back, so that stored entries do not have the runs that count.
    """
    entry, present = table_of(tables.Entry).c, PRESENT.digests()
    columns = (entry.method, entry.budget, entry.pooled, *(entry[name] for name in _Code._fields))
    stored = session.execute(select(*columns).where(*_on_board(*here)).order_by(entry.fingerprint)).all()
    found = [(method, budget, pooled["valid_value"], _Code(*code)) for method, budget, pooled, *code in stored]
    present_codes = [code for *_, code in found]
    if _find_undone(session, present_codes, present):
        return None
    older = older_parts(present_codes, present)
    candidates = (
        Candidate(code.fingerprint, method, seen, value)
        for method, seen, value, code in found
        if code.fingerprint not in older
    )
    best = best_of_each_method(candidates, metric, budget)
    return _Read(_rows(session, [tables.Entry.fingerprint.in_(best)], present), [], list(older.values()), best)


class Rows(NamedTuple):
    """Entries of a board before they are ranked.

    Attributes:
        shown: entries that the board shows.
        older: entries that the board sets aside, because it has newer code of a part that they share with others.
    """

    shown: list[MeasuredEntry]
    older: list[Older]


def rows_of_board(session: Session, task: str, profile: str, problem: str) -> Rows:
    """All entries of a board before they are ranked."""
    present = PRESENT.digests()
    return _divide_rows(_rows(session, _on_board(task, profile, problem), present), present)


def rows_of(session: Session, fingerprints: Collection[str]) -> dict[str, MeasuredEntry]:
    """Read entries by fingerprint, each with the code that its board shows. Fingerprints without entry are left out."""
    found = _rows(session, [tables.Entry.fingerprint.in_(fingerprints)], PRESENT.digests())
    return {row.fingerprint: row for row in found}


def older_on_board(session: Session, task: str, profile: str, problem: str) -> dict[str, list[str]]:
    """Find the entries that a board sets aside, by fingerprint, and the parts for which the board has newer code."""
    entry, present = tables.Entry, PRESENT.digests()
    columns = select(entry.fingerprint, entry.code, entry.n_older, entry.parts, entry.code_at)
    stored = [_Code(*row) for row in session.execute(columns.where(*_on_board(task, profile, problem)))]
    undone = _find_undone(session, stored, present)
    shown = [
        one._replace(parts=present_parts(one.parts, present)) if one.parts and one.fingerprint in undone else one
        for one in stored
    ]
    return older_parts(shown, present)


class _Code(NamedTuple):
    """Code of a stored entry, see ``MeasuredEntry``."""

    fingerprint: str
    code: str | None
    n_older: int
    parts: PartCodes | None
    code_at: datetime | None


def _divide_rows(rows: Sequence[MeasuredEntry], present: Digests) -> Rows:
    older = older_parts(rows, present)
    return Rows(
        [row for row in rows if row.fingerprint not in older],
        [Older(row, older[row.fingerprint]) for row in rows if row.fingerprint in older],
    )


def _describe_set_aside(older: Sequence[Sequence[str]]) -> schemas.SetAside | None:
    return schemas.SetAside(len(older), describe_older(older)) if older else None


def _on_board(task: str, profile: str, problem: str) -> list[ColumnElement[bool]]:
    return [tables.Entry.task == task, tables.Entry.profile == profile, tables.Entry.problem == problem]


def _rows(session: Session, which: Sequence[ColumnElement[bool]], present: Digests) -> list[MeasuredEntry]:
    """Read entries in the order of their fingerprints. Columns are read by position: looking up their names in
    SQLAlchemy's rows took a third of the time of a board of a thousand entries.

    A stored entry has the runs of the code that was trained last. If the code was edited back since, the runs of the
    present code count.
    """
    entry = table_of(tables.Entry).c
    found = session.execute(select(*(entry[name] for name in READ)).where(*which).order_by(entry.fingerprint))
    rows = [_row(**dict(zip(READ, stored, strict=True))) for stored in found]
    undone = _find_undone(session, rows, present)
    if not undone:
        return rows
    pooled = entries.rows_of_codes(session, undone, Run.code.in_(undone.values()))
    in_place = {row.fingerprint: row for row in pooled if row.code == undone[row.fingerprint]}
    return [_in_place_of(row, in_place.get(row.fingerprint)) for row in rows]


def _in_place_of(stored: MeasuredEntry, present: MeasuredEntry | None) -> MeasuredEntry:
    return replace(present, n_older=stored.n_runs + stored.n_older - present.n_runs) if present else stored


def _find_undone(session: Session, rows: Sequence[MeasuredEntry | _Code], present: Digests) -> dict[str, str]:
    """Find entries whose code was edited back to older code that they have runs of: the older code, by fingerprint."""
    wanted = {
        row.fingerprint: code
        for row in rows
        if row.n_older and row.parts and (code := code_of(present_parts(row.parts, present))) != row.code
    }
    if not wanted:
        return {}
    runs = select(Experiment.fingerprint, Run.code).join(Run).distinct().where(HAS_SUCCEEDED)
    known = {
        (fingerprint, code)
        for fingerprint, code in session.execute(
            runs.where(Experiment.fingerprint.in_(wanted), Run.code.in_(wanted.values()))
        )
    }
    return {fingerprint: code for fingerprint, code in wanted.items() if (fingerprint, code) in known}


def _of_other_code(session: Session, rows: Sequence[MeasuredEntry]) -> list[Older]:
    """Pool the runs of other code that these entries set aside, one row for each code."""
    shown = {row.fingerprint: row for row in rows if row.n_older}
    found = entries.rows_of_codes(session, shown)
    return [
        Older(row, differing_parts(row.parts, shown[row.fingerprint].parts))
        for row in found
        if row.code != shown[row.fingerprint].code
    ]


def seeds_of(session: Session, fingerprints: Collection[str]) -> dict[str, Sequence[RunResult]]:
    """Read the runs that count of stored entries, one run for each seed, by fingerprint."""
    return {fingerprint: row.results for fingerprint, row in rows_of(session, fingerprints).items()}


def _row(**stored: Any) -> MeasuredEntry:
    stored["results"] = [RunResult(**result) for result in stored["results"]]
    stored["pooled"] = read_pooled(stored["pooled"])
    return MeasuredEntry(**stored)


def _rows_as_of(session: Session, task: str, profile: str, problem: str, moment: datetime) -> Rows:
    """Rows of entries as they would have been stored at a moment."""
    found = session.execute(
        select(Run, Experiment)
        .join(Experiment)
        .where(Experiment.task == task, Experiment.profile == profile, Experiment.problem == problem)
        .where(HAS_SUCCEEDED, Run.finished_at <= moment)
        .order_by(Experiment.fingerprint, Run.finished_at, Run.id)
    )
    of_fingerprints = groupby(((run, experiment) for run, experiment in found), key=lambda row: row[1].fingerprint)
    return _divide_rows([entries.row_of(list(rows)) for _, rows in of_fingerprints], present={})


def _problems(session: Session, task: str, profile: ProfileName) -> list[schemas.Problem]:
    """The profile's own problem, and all others that have entries or submitted results."""
    own, entry = own_problem(task, profile), tables.Entry
    here = (entry.task == task, entry.profile == profile)
    others = set(session.scalars(select(entry.problem).where(*here).distinct())) - {own.id}  # columns of the index
    options = {
        id: session.scalars(select(entry.options).where(*here, entry.problem == id).limit(1)).one()
        for id in sorted(others)
    }
    options = {**submitted.problems(session, task, profile), **options, own.id: own.options}
    ids = [own.id, *sorted(options.keys() - {own.id})]
    return [shown_problem(task, profile, id, options[id]) for id in ids]


def shown_problem(task: str, profile: str, id: str, options: Mapping[str, Any]) -> schemas.Problem:
    """Problem with its title and note, as boards show it."""
    own: Problem = own_problem(task, cast(ProfileName, profile))
    named = title(options, own) if id == own.id or options != own.options else f"other data ({id})"
    return schemas.Problem(id=id, title=named, options=dict(options), note=note(task, options))


def _choose_problem(problems: Sequence[schemas.Problem], id: str | None) -> schemas.Problem:
    if id is None:
        return problems[0]
    for problem in problems:
        if problem.id == id:
            return problem
    wrong = f"this board has no {quote_value(id)}; {choose(id, [problem.id for problem in problems])}"
    raise Invalid([SpecError(("problem",), wrong, "unknown_problem")])

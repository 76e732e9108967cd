"""Results of a sweep's cells, read from the boards that show them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import TypeAdapter
from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.problem import own_budget
from normcore.spec.metric import Metric
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.http.answer_cache import AnswerCache
from service.leaderboards import queries as leaderboards
from service.leaderboards import tables
from service.leaderboards.ranked_board import Rules, rank_entries
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.schemas import Entry
from service.statistics.order import RankEstimate
from service.sweeps import findings
from service.sweeps.schemas import BudgetFlip, BudgetPoint
from service.sweeps.tables import SweepCell


@dataclass(slots=True)
class BoardResults:
    """Results of a sweep's cells. A cell without results is left out.

    Attributes:
        standings: places of the cells among the ranked cells of the sweep, by fingerprint; empty if the cells are of
            several boards.
        scores: test values that a search would find, by fingerprint: the score of a cell, or the value of a model that
            ignores its input if all seeds of the cell diverged; empty if the cells are of several boards.
        entries: entries of the cells on their boards, by fingerprint; entries of older code have no rank.
        best: fingerprint of the best cell within the board's budget; None if there is no such cell, and if the cells
            are of several boards.
        budget_curve, budget_flips: curves of the methods from the same cells, and where the curves cross; empty if the
            cells are of several boards.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    standings: dict[str, RankEstimate] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    best: str | None = None
    budget_curve: dict[str, list[BudgetPoint]] = field(default_factory=dict)
    budget_flips: list[BudgetFlip] = field(default_factory=list)


RESULTS = TypeAdapter(BoardResults)
_Board = tuple[str, ProfileName, str]
Version = tuple[Hashable, ...]


def board_results(session: Session, answer_cache: AnswerCache, sweep_id: str) -> BoardResults:
    """Read the results of a sweep. They are cached until a run is added to one of the sweep's boards.

    Args:
        answer_cache: cache of the results.
    """
    boards = _boards(session, sweep_id)
    content = answer_cache.get(
        ("sweep", sweep_id), _version(session, boards), lambda: RESULTS.dump_json(_results(session, sweep_id, boards))
    )
    return RESULTS.validate_json(content)


def version_of_results(session: Session, sweep_id: str) -> Version:
    """Version of the results of a sweep: it changes if a run is added to one of the sweep's boards."""
    return _version(session, _boards(session, sweep_id))


def _version(session: Session, boards: Sequence[_Board]) -> Version:
    return tuple((board, leaderboards.version(session, *board[:2])) for board in boards)


def _boards(session: Session, sweep_id: str) -> list[_Board]:
    entry = tables.Entry
    of_sweep = select(SweepCell.fingerprint).where(SweepCell.sweep_id == sweep_id)
    rows = session.execute(
        select(entry.task, entry.profile, entry.problem)
        .where(entry.fingerprint.in_(of_sweep), entry.task.in_(BENCHMARKS))
        .distinct()
    )
    return sorted((task, cast(ProfileName, profile), problem) for task, profile, problem in rows)


def _results(session: Session, sweep_id: str, boards: Sequence[_Board]) -> BoardResults:
    rows: dict[str, MeasuredEntry] = {}
    found = BoardResults()
    for task, profile, problem in boards:
        of_board, older = leaderboards.rows_of_board(session, task, profile, problem)
        rows |= {row.fingerprint: row for row in of_board}
        rules = Rules(BENCHMARKS[task].metric(), own_budget(task, profile), "metric", "none", rank_over_budget=False)
        found.entries |= {
            entry.fingerprint: entry for entry in rank_entries(of_board, [], rules, older) if entry.fingerprint
        }
    cells = session.scalars(
        select(SweepCell.fingerprint).where(SweepCell.sweep_id == sweep_id).order_by(SweepCell.number)
    ).all()
    of_cells = [rows[fingerprint] for fingerprint in cells if fingerprint in rows]
    found.entries = {cell: found.entries[cell] for cell in cells if cell in found.entries}
    if len(boards) == 1:
        [(task, profile, _)] = boards
        within = [row for row in of_cells if row.budget <= own_budget(task, profile)]
        _compare(found, within, BENCHMARKS[task].metric())
    return found


def _compare(found: BoardResults, cells: Sequence[MeasuredEntry], metric: Metric) -> None:
    found.standings, found.scores = findings.standings(cells, metric), findings.scores(cells)
    curves = findings.budget_curves(findings.trials(cells), metric.direction)
    found.best = findings.best(cells, metric)
    found.budget_flips = findings.budget_flips(curves, metric)
    found.budget_curve = {
        method: [(k, *point) for k, point in enumerate(points, start=1)] for method, points in curves.items()
    }

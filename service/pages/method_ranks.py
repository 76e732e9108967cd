"""Rank of each method's best entry on each board of a profile."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import TypeAdapter
from sqlalchemy.orm import Session

from normcore.problem import own_problem
from normcore.spec.methods import METHODS
from normcore.spec.names import differences, is_of_the_problem
from normcore.spec.task import ProfileName
from service.http.answer_cache import AnswerCache
from service.leaderboards import queries
from service.leaderboards.queries import BoardRequest
from service.leaderboards.schemas import Entry, Leaderboard, LeaderboardSummary
from service.leaderboards.standing import standing_of
from service.pages.seeds import TooFew, too_few


@dataclass(frozen=True, slots=True)
class MethodRank:
    """Rank of a method on a board.

    Attributes:
        rank: rank of the method's tie group; None if all runs of the method diverged, or if it has too few seeds.
        tied_with: names of the other methods of the tie group.
        few: text in place of the rank, if the method has too few seeds.
        changed: options in which the spec differs from the profile.
    """

    rank: int | None
    tied_with: Sequence[str]
    value: float | None
    few: TooFew | None = None
    changed: str = ""


@dataclass(frozen=True, slots=True)
class BoardColumn:
    """Column of the table of ranks: the board of a task's own problem at a profile."""

    task: str
    metric: str
    ranks: dict[str, MethodRank]


COLUMNS = TypeAdapter(list[BoardColumn])
PROFILES: Sequence[ProfileName] = ("paper", "small", "smoke")


@dataclass(frozen=True, slots=True)
class RankTable:
    """Table of ranks: methods by their mean rank, and a column for each board. Methods without a rank are last."""

    methods: Sequence[str]
    columns: Sequence[BoardColumn]

    def all_diverged(self, tasks: Collection[str]) -> bool:
        """Tell if these tasks have entries, but no entry has a finite result."""
        found = [one for column in self.columns if column.task in tasks for one in column.ranks.values()]
        return bool(found) and all(one.value is None for one in found)


def rank_table(
    session: Session, answer_cache: AnswerCache, boards: Sequence[LeaderboardSummary], profile: str
) -> RankTable:
    """Ranks of all methods on all boards of a profile.

    Args:
        answer_cache: cache of columns that were made before.
        boards: all boards that have entries.
    """
    own = [board for board in boards if board.profile == profile and board.n_entries and _is_own(board)]
    version = tuple((board.task, *queries.version(session, board.task, cast(ProfileName, profile))) for board in own)

    def make_columns() -> bytes:
        return COLUMNS.dump_json([_column(session, board) for board in own])

    columns = COLUMNS.validate_json(answer_cache.get(("standings", profile), version, make_columns))
    ranks: dict[str, list[int]] = {}
    for column in columns:
        last = len(column.ranks)
        for method, one in column.ranks.items():
            known = ranks.setdefault(method, [])
            if not one.few:
                known.append(last if one.rank is None else one.rank)
    methods = sorted(ranks, key=lambda method: (statistics.fmean(ranks[method]) if ranks[method] else math.inf, method))
    return RankTable(methods, columns)


def profiles_of(boards: Sequence[LeaderboardSummary]) -> list[ProfileName]:
    """Profiles that have one of these boards, the largest first."""
    return [profile for profile in PROFILES if any(board.profile == profile for board in boards)]


def busiest(boards: Sequence[LeaderboardSummary]) -> ProfileName | None:
    """Profile with the most runs; None if there are no boards."""
    runs: Counter[str] = Counter()
    for board in boards:
        runs[board.profile] += board.n_runs
    return cast(ProfileName, runs.most_common(1)[0][0]) if runs else None


def _is_own(board: LeaderboardSummary) -> bool:
    return board.problem.id == own_problem(board.task, cast(ProfileName, board.profile)).id


def _column(session: Session, board: LeaderboardSummary) -> BoardColumn:
    asked = BoardRequest(board.task, cast(ProfileName, board.profile), best=True)
    return column(queries.leaderboard(session, asked))


def column(board: Leaderboard) -> BoardColumn:
    """Column of a board, from its measured entries. The board must have at most one entry for each method."""
    measured = [entry for entry in board.entries if entry.source == "measured" and entry.method in METHODS]
    return BoardColumn(board.task, board.metric, {entry.method or "": _rank(board, entry) for entry in measured})


def _rank(board: Leaderboard, entry: Entry) -> MethodRank:
    place, few = standing_of(board, entry), too_few(entry)
    return MethodRank(
        rank=None if few else place.shared_rank,
        tied_with=place.tied_with,
        value=entry.value.mean if entry.value else None,
        few=few,
        changed=differences({path: value for path, value in entry.changes.items() if not is_of_the_problem(path)}),
    )

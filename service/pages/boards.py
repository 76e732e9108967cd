"""The pages of boards: the board of a task, and all boards together."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse, Response

from normcore.spec.methods import METHODS
from normcore.spec.task import DEFAULT_PROFILE, ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.comparisons import queries as comparisons
from service.comparisons.figures import AXES, MAX_LINES, choose_drawn_entries, choose_points
from service.comparisons.schemas import Curve, EntryCurves
from service.db import utc_now
from service.http.answer_cache import AnswerCache
from service.http.dependencies import AppPartsDep
from service.http.routing import check_found, check_known
from service.leaderboards import overall, queries
from service.leaderboards.moments import Moment
from service.leaderboards.queries import BoardRequest
from service.leaderboards.ranking import RankBy, TimeBy
from service.leaderboards.schemas import Leaderboard, LeaderboardSummary, Overall
from service.leaderboards.verdicts import counted_for_first, nobody_wins, overall_verdict, ties
from service.pages.board import Published, column_notes, facts, table
from service.pages.method_ranks import PROFILES, busiest, rank_table
from service.pages.rendering import address, answer_from_cache, html
from service.pages.routing import PageRouter
from service.statistics.times import TimeUnit

router = PageRouter()

ON_A_PAGE = 50  # entries
COLUMNS = 7  # of the table that shows the curves as numbers


@router.get("/boards/{task}")
def get_board(
    request: Request,
    parts: AppPartsDep,
    task: Annotated[str, Path()],
    profile: Annotated[ProfileName, Query()] = DEFAULT_PROFILE,
    problem: Annotated[str | None, Query()] = None,
    rank_by: Annotated[RankBy, Query()] = "metric",
    baseline: Annotated[str, Query()] = "none",
    published: Annotated[Published, Query()] = "apart",
    entries: Annotated[Literal["best", "all"], Query()] = "best",
    by: Annotated[TimeUnit, Query()] = "steps",
    number: Annotated[int, Query(alias="page", ge=1)] = 1,
    code: Annotated[Literal["present", "all"], Query()] = "present",
    as_of: Annotated[Moment | None, Query()] = None,
) -> Response:
    """Page of a board: which method wins, and how sure that is."""
    check_found("leaderboard of", task, BENCHMARKS)
    check_known("baseline", baseline, METHODS)
    asked = BoardRequest(
        task, profile, problem, rank_by, baseline, published != "no", best=entries == "best", older=code == "all"
    )
    with parts.db.snapshot() as session:

        def make_page() -> str:
            values = _values(session, asked, as_of, published, by, number)
            return html(request, "boards/board.html", **values)

        if as_of is not None:
            return HTMLResponse(make_page())
        return answer_from_cache(request, parts, queries.version(session, task, profile), make_page)


def _values(
    session: Session, asked: BoardRequest, as_of: datetime | None, published: Published, by: TimeUnit, number: int
) -> dict[str, Any]:
    """Values of a board's page."""
    found, seeds = queries.leaderboard_and_seeds(session, asked, as_of)
    board = replace(found, entries=[entry for entry in found.entries if not entry.of_older_code])
    shown = found.entries[(number - 1) * ON_A_PAGE : number * ON_A_PAGE]
    boards = [one for one in queries.leaderboards(session) if one.task == asked.task]
    curved = comparisons.read_curves(
        session, [entry.fingerprint for entry in choose_drawn_entries(board) if entry.fingerprint]
    )
    benchmark = BENCHMARKS[asked.task]
    return {
        "title": benchmark.title,
        "description": (inspect.getdoc(benchmark) or "").partition("\n\n")[0],
        "board": board,
        "asked": asked,
        "published": published,
        "by": by,
        "as_of": as_of or utc_now(),
        "profiles": PROFILES,
        "boards": boards,
        "verdict": board.verdict,
        "ties": ties(board),
        "folded": counted_for_first(board),
        "facts": facts(board, _count_hidden_entries(board, boards) if asked.best else 0),
        "table": table(board, shown, seeds, published),
        "pages": _Pages(len(found.entries), number),
        "curves": curves_as_table(curved, by),
        "undrawn": count_undrawn(board, curved),
        "notes": column_notes(board),
        "axis_title": AXES[by],
        "data_address": data_address(asked, as_of),
        "figure_address": figure_address(asked, by),
        "methods": sorted({entry.method for entry in board.entries if entry.method} | {"none", asked.baseline}),
    }


def count_undrawn(board: Leaderboard, curved: Sequence[EntryCurves]) -> int:
    """Count the measured entries within the budget whose curves are not drawn, because there are too many."""
    measured = sum(entry.source == "measured" and not entry.over_budget for entry in board.entries)
    return measured - len(curved) if len(curved) >= MAX_LINES else 0


class _Pages:
    """Number of the shown page, and of the last page, of a list of entries."""

    def __init__(self, entries: int, number: int) -> None:
        self.number, self.last = number, max(1, -(-entries // ON_A_PAGE))


def _count_hidden_entries(board: Leaderboard, boards: Sequence[LeaderboardSummary]) -> int:
    """Count the measured entries of the board's problem and profile that the board does not show."""
    all_of_it = sum(
        one.n_entries for one in boards if (one.profile, one.problem.id) == (board.profile, board.problem.id)
    )
    aside = board.set_aside.n_entries if board.set_aside else 0
    return max(0, all_of_it - aside - sum(entry.source == "measured" for entry in board.entries))


def data_address(asked: BoardRequest, as_of: datetime | None) -> str:
    """Address of the API call that gives the same entries as the page."""
    return address(
        f"/v1/leaderboards/{asked.task}",
        profile=asked.profile,
        problem=asked.problem,
        rank_by=asked.rank_by,
        baseline=asked.baseline,
        published="true" if asked.published else None,
        entries="best" if asked.best else None,
        code="all" if asked.older else None,
        as_of=as_of.isoformat() if as_of else None,
    )


def figure_address(asked: BoardRequest, by: TimeUnit) -> str:
    """Address of the API call that gives the figure of the curves."""
    return address(
        f"/v1/leaderboards/{asked.task}/figures/curves",
        profile=asked.profile,
        problem=asked.problem,
        rank_by=asked.rank_by,
        entries="best" if asked.best else None,
        x=by,
    )


def curves_as_table(curved: Sequence[EntryCurves], by: TimeUnit) -> list[tuple[str, str, list[tuple[float, float]]]]:
    """Name, method and some points of each curve. A point is a step, or a time in seconds, and the mean there."""
    return [
        (
            entry.name,
            entry.method,
            points(entry.curve if by == "steps" else entry.curve_by_seconds, entry.first_end, by),
        )
        for entry in curved
    ]


def points(curve: Curve, first_end: int, by: TimeUnit) -> list[tuple[float, float]]:
    """Some points of a curve, evenly spread."""
    x = curve.steps if by == "steps" else curve.seconds
    kept_points = choose_points(curve, first_end if by == "steps" else None, COLUMNS)
    return [(x[k], curve.mean[k]) for k in kept_points]


@router.get("/boards")
def get_boards(
    request: Request,
    parts: AppPartsDep,
    profile: Annotated[ProfileName | None, Query()] = None,
    rank_by: Annotated[TimeBy, Query()] = "steps_to_target",
) -> Response:
    """Page of all boards: which method wins overall."""
    with parts.db.snapshot() as session:
        boards = queries.leaderboards(session)
        shown = profile or busiest(boards) or DEFAULT_PROFILE

        def make_page() -> str:
            values = _values_of_all(session, parts.answer_cache, boards, shown, rank_by)
            return html(request, "boards/boards.html", **values)

        version = repr((boards, overall.version(session, shown)))
        return answer_from_cache(request, parts, version, make_page)


def _values_of_all(
    session: Session,
    answer_cache: AnswerCache,
    boards: Sequence[LeaderboardSummary],
    profile: ProfileName,
    rank_by: TimeBy,
) -> dict[str, Any]:
    """Values of the page of all boards."""
    found, seeds = overall.overall_and_seeds(session, profile, rank_by)
    standings = rank_table(session, answer_cache, boards, profile)
    counted = [one.task for one in found.tasks] or [one.task for one in standings.columns]
    all_diverged = standings.all_diverged(counted)
    return {
        "boards": boards,
        "profile": profile,
        "profiles": PROFILES,
        "standings": standings,
        "overall": found,
        "verdict": nobody_wins(counted) if all_diverged else overall_verdict(found, seeds),
        "all_diverged": all_diverged,
        "facts": [wording.count(len(found.tasks), "task") + " with a target that was reached"],
        "missing": sorted(BENCHMARKS.keys() - {board.task for board in boards}),
        "left_out": _group_by_reason(found),
    }


def _group_by_reason(found: Overall) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for task in found.left_out:
        reasons.setdefault(task.reason, []).append(task.task)
    return reasons

"""Leaderboards over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from normcore.spec import SpecError
from normcore.spec.methods import METHODS
from normcore.spec.tasks import BENCHMARKS, DEFAULT_PROFILE, ProfileName
from service.errors import Invalid, NotFound
from service.http import DatabaseDep
from service.leaderboards import queries
from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import LEADERBOARD, Leaderboard, LeaderboardList

router = APIRouter(prefix="/v1/leaderboards", tags=["leaderboards"])


@router.get("")
def list_leaderboards(db: DatabaseDep) -> LeaderboardList:
    """Tasks and profiles that have entries."""
    with db.snapshot() as session:
        return LeaderboardList(items=queries.leaderboards(session))


@router.get("/{task}", response_model=Leaderboard)
def get_leaderboard(
    task: str,
    db: DatabaseDep,
    profile: ProfileName = DEFAULT_PROFILE,
    rank_by: RankBy = "metric",
    baseline: Annotated[str, Query(description="The method that speed-ups are measured against.")] = "none",
    published: Annotated[bool, Query(description="Rank the papers' own numbers among the measured ones.")] = False,
) -> Response:
    """Ranked entries: every succeeded run that shares a fingerprint, pooled over seeds."""
    if task not in BENCHMARKS:
        raise NotFound(f"no task {task!r} with a leaderboard; choose from {', '.join(sorted(BENCHMARKS))}")
    if baseline not in METHODS:
        raise Invalid([SpecError(("baseline",), f"choose from {', '.join(sorted(METHODS))}", "unknown_method")])
    with db.snapshot() as session:
        board = queries.leaderboard(session, task, profile, rank_by=rank_by, baseline=baseline, published=published)
    return Response(LEADERBOARD.dump_json(board), media_type="application/json")

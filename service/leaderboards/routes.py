"""Leaderboards over HTTP."""

from typing import Annotated

from fastapi import Path, Query, Response

from normcore.problem import own_problem
from normcore.spec.methods import METHODS
from normcore.spec.task import DEFAULT_PROFILE, ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.errors import NotFound
from service.http.openapi import answers, refusals
from service.http.parts import DatabaseDep
from service.http.routing import Router, check_found, check_known
from service.leaderboards import examples, queries
from service.leaderboards.ranking import RankBy
from service.leaderboards.schemas import LEADERBOARD, Leaderboard, LeaderboardList

OWN_PROBLEM = own_problem("permuted_digits", "small").id
router = Router(prefix="/v1/leaderboards", tags=["leaderboards"])


@router.get("", responses=answers(examples.LEADERBOARDS))
def list_leaderboards(db: DatabaseDep) -> LeaderboardList:
    """Tasks and profiles that have entries."""
    with db.snapshot() as session:
        return LeaderboardList(items=queries.leaderboards(session))


@router.get(
    "/{task}",
    response_model=Leaderboard,
    responses=answers(examples.LEADERBOARD, also={"published": examples.PUBLISHED}) | refusals(NotFound),
)
def get_leaderboard(
    task: Annotated[str, Path(description="The task's name.", examples=["permuted_digits"])],
    db: DatabaseDep,
    profile: Annotated[ProfileName, Query(description="The task's size.", examples=["small"])] = DEFAULT_PROFILE,
    rank_by: Annotated[RankBy, Query(description="What decides the rank.", examples=["steps_to_target"])] = "metric",
    baseline: Annotated[
        str,
        Query(
            description="The method that speed-ups are measured against.",
            json_schema_extra={"enum": sorted(METHODS)},
            examples=["none"],
        ),
    ] = "none",
    problem: Annotated[
        str | None,
        Query(
            description="The id of one of the board's problems; the profile's own if omitted.", examples=[OWN_PROBLEM]
        ),
    ] = None,
    published: Annotated[
        bool,
        Query(
            description="Rank the papers' numbers among the measured ones: their own, and those that they quote.",
            examples=[True],
        ),
    ] = False,
    over_budget: Annotated[
        bool,
        Query(
            description="Rank entries that had more than the board's budget among those that had not.", examples=[True]
        ),
    ] = False,
) -> Response:
    """Ranked entries: every succeeded run that shares a fingerprint, pooled over seeds."""
    check_found("leaderboard of", task, BENCHMARKS)
    check_known("baseline", baseline, METHODS)
    with db.snapshot() as session:
        board = queries.leaderboard(
            session,
            task,
            profile,
            problem=problem,
            rank_by=rank_by,
            baseline=baseline,
            with_published=published,
            rank_over_budget=over_budget,
        )
    return Response(LEADERBOARD.dump_json(board), media_type="application/json")
